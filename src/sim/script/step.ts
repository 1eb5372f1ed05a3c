import type { JsonObject } from "@bufbuild/protobuf";
import type { ConnectCode } from "../../wire/agent/cursor-errors.ts";

/** A step of a scripted turn. docs/simulator.md describes the language. */
export type Step =
  | { readonly type: "say"; readonly text: string }
  | { readonly type: "think"; readonly text: string }
  | { readonly type: "call"; readonly name: string; readonly args: JsonObject }
  | { readonly type: "exec"; readonly exec: ExecKind | number; readonly args: JsonObject }
  | { readonly type: "ask"; readonly query: JsonObject | number }
  | { readonly type: "wait" }
  | { readonly type: "tokens"; readonly count: number; readonly everyMs: number }
  | { readonly type: "silent"; readonly ms: number }
  | ({ readonly type: "usage" } & TurnTokens)
  | FailStep
  | FaultStep
  | { readonly type: "need"; readonly names: readonly string[] }
  | { readonly type: "next" }
  /** Text after `@sim` that is no step. It is skipped, traced, and named in the echo. */
  | { readonly type: "invalid"; readonly source: string; readonly reason: string };

/** The token counts of a turn. Input includes the tokens that were read from the prompt cache and written to it. */
export interface TurnTokens {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly written: number;
}

export interface FailStep {
  readonly type: "fail";
  readonly code: ConnectCode;
  /** Fails with this HTTP status before the stream, if the script is known by then. */
  readonly http?: number;
  /** A name of the backend's error enum, such as `ERROR_RATE_LIMITED`. Adds typed details. */
  readonly errorName?: string;
  readonly title?: string;
  readonly retryable?: boolean;
  readonly retryAfterS?: number;
  /** The value of `x-cursor-inference-request-error-type` in the metadata. */
  readonly errorType?: string;
  readonly text: string;
  readonly times: number;
}

export interface FaultStep {
  readonly type: "fault";
  readonly fault: FaultKind;
  /** The HTTP/2 error code of `rst` and `goaway`, instead of the default. */
  readonly code?: number;
  /** The time between the calls of a `slow-batch`, instead of the default. */
  readonly ms?: number;
  readonly times: number;
}

export const EXEC_KINDS = [
  "shell",
  "shell_stream",
  "read",
  "write",
  "edit",
  "delete",
  "ls",
  "grep",
  "fetch",
  "diagnostics",
] as const;
export type ExecKind = (typeof EXEC_KINDS)[number];

export const FAULT_KINDS = [
  "rst",
  "refused",
  "goaway",
  "tcp-reset",
  "stall",
  "truncate",
  "garbage",
  "oversize",
  "gzip",
  "gzip-bomb",
  "split",
  "end-without-turn-ended",
  "end-after-calls",
  "keep-open",
  "late-checkpoint",
  "no-settled",
  "no-usage",
  "dup-frame",
  "slow-batch",
  "sse-type",
  "error-after-end",
] as const;
type FaultKind = (typeof FAULT_KINDS)[number];
