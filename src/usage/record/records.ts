import type { LossReason } from "../../core/engine/call-log.ts";
import type { DoneReason, Usage } from "../../core/events.ts";
import type { RunEnding, UsageOrigin } from "../../core/run-meter.ts";
import type { AssistantMessage, Turn } from "../../core/turn.ts";

/** One request of a client, when it is over. It never holds arguments, results or texts. */
export interface RequestRecord {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly principalId: string;
  /** The name of the key; `owner` for the gateway's own key, `token` for a Cursor token that came with the request. */
  readonly keyName: string;
  /** The family of the user agent, such as `claude-code`. */
  readonly client: string;
  readonly face: string;
  /** The template of the path, such as `/v1/chat/completions`. */
  readonly route: string;
  readonly modelAsked: string | undefined;
  readonly modelServed: string | undefined;
  readonly driver: string | undefined;
  /** The turns of one conversation share it, across clients and restarts. */
  readonly conversation: string | undefined;
  /** The HTTP status; 499 if the client left. */
  readonly status: number;
  readonly errorCode: string | undefined;
  readonly firstTokenMs: number | undefined;
  readonly durationMs: number;
  /** Milliseconds spent in each phase. Phases that were not reached are absent. */
  readonly phases: Readonly<Partial<Record<PhaseName, number>>>;
  /**
   * What all runs of the request have used, finished or not. Undefined if nothing was sent upstream. Figures may be
   * negative in the last request of a run of several requests: they correct the estimates of the requests before.
   */
  readonly usage: Usage | undefined;
  /** If parts of it were counted in different ways, the least certain one. */
  readonly usageOrigin: UsageOrigin | undefined;
  readonly run: RunOrigin | undefined;
  readonly cost: Cost | undefined;
  readonly cache: CacheTruth | undefined;
}

/** `tools` is the time of hub calls; `park` is how long the run had waited for the results that this request brought. */
export type PhaseName =
  | "gate"
  | "parse"
  | "credential"
  | "checkpoint"
  | "open"
  | "first-frame"
  | "model"
  | "tools"
  | "park";

/** How the request got its run. */
export type RunOrigin =
  | { readonly type: "fresh" | "resumed" }
  | { readonly type: "replayed"; readonly reason: LossReason };

/** What a request cost by a price list. */
export interface Cost {
  /** Millionths of a US dollar. */
  readonly micros: number;
  /** True if the tokens are an estimate. */
  readonly isEstimate: boolean;
  /** Where the price comes from, such as `settings` or `genai-prices 2026-11-01`. */
  readonly source: string;
}

/** How much of the input could have come from the upstream's prompt cache, and how much did. */
export interface CacheTruth {
  readonly possibleTokens: number;
  readonly actualTokens: number;
  /** Why less came from the cache than could have. */
  readonly reason: CacheMiss | undefined;
}

export type CacheMiss = "model" | "tools" | "instructions" | "edited" | "expired" | "new-run" | "unknown";

/** One tool call, when it is over. */
export interface ToolCallRecord {
  readonly callId: string;
  /** The request in which it was asked. */
  readonly requestId: string;
  readonly principalId: string;
  /** `native`: a request of Cursor's own that a tool of the client answered. */
  readonly ranBy: "client" | "native" | "hub";
  /** The MCP server, for hub calls. */
  readonly server?: string | undefined;
  readonly tool: string;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly answeredAt: number | undefined;
  readonly outcome: "answered" | "failed" | "lost" | "replayed" | "expired";
  /** The size of the result, if it is known. */
  readonly bytes: number | undefined;
}

/** One run of an upstream: one live answer, over one or more requests. */
export interface RunRecord {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly principalId: string;
  /** The requests that it has answered, in order; the first ones if there are many. */
  readonly requestIds: readonly string[];
  readonly driver: string | undefined;
  readonly model: string | undefined;
  /** As in the records of its requests. */
  readonly conversation: string | undefined;
  /** The upstream's own id of the conversation, if it has one. */
  readonly upstreamConversation: string | undefined;
  /** The account that pays, if it is signed in here. */
  readonly account: string | undefined;
  readonly start: RunStart;
  /** How long it has waited for tool results. */
  readonly parkedMs: number;
  /** From its start to its end, or to now if it waits. */
  readonly durationMs: number;
  readonly outcome: RunEnding;
  readonly usage: Usage | undefined;
  readonly usageOrigin: UsageOrigin | undefined;
}

/** What a run began with: nothing, the upstream's state of the conversation, or the client's transcript. */
export type RunStart =
  | { readonly type: "fresh" | "resumed" }
  | { readonly type: "replayed"; readonly reason: LossReason | "no-checkpoint" };

/** What was said in a request. No record holds it; it is only handed to sinks that ask for it. */
export interface TurnContent {
  readonly turn: Turn;
  /** Undefined if the answer did not come to its end. */
  readonly answer: { readonly message: AssistantMessage; readonly reason: DoneReason } | undefined;
}

/** Is given every record when it is complete. It must be fast and must not throw. */
export interface UsageSink {
  /** True if the sink is to get what was said. Then the text of each answer is kept in memory until its end. */
  readonly wantsContent?: boolean;
  /** Called once for each request. `content` is undefined unless a sink wants it, and if the request had no turn. */
  request(record: RequestRecord, content?: TurnContent): void;
  toolCall(record: ToolCallRecord): void;
  /** Called when a part of a run is over; a later record replaces an earlier one with the same id. */
  run?(record: RunRecord): void;
  /** The upstream has reported the usage of a request after its record was made. */
  corrected?(record: RequestRecord, before: RequestRecord): void;
}
