import type { Activity } from "./activity.ts";
import type { JsonObject } from "./turn.ts";

/**
 * One thing that happens in an answer. Errors are not among them: they are thrown, as one error type. Nothing is ever
 * a `text` that the model did not say.
 */
export type TurnEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  /** Closes one block of thinking. */
  | { readonly type: "thinking-done"; readonly durationMs: number; readonly signature?: string }
  /** A tool call comes into being: its arguments follow as pieces of JSON text, where the upstream streams them. */
  | { readonly type: "tool-call-start"; readonly id: string; readonly name: string }
  | { readonly type: "tool-call-delta"; readonly id: string; readonly json: string }
  /** The whole call; what was streamed of it before adds up to these arguments. */
  | { readonly type: "tool-call"; readonly id: string; readonly name: string; readonly args: JsonObject }
  /** Totals of the answer so far; the last one counts. */
  | { readonly type: "usage"; readonly usage: Usage }
  /** Something worth a log line or a header, never shown as the model's words. */
  | { readonly type: "notice"; readonly code: string; readonly text: string }
  /** What the upstream does or asks by itself; only in a turn that shows it. */
  | { readonly type: "activity"; readonly activity: Activity }
  /** The last event; with the text that ended it, if it was one of the turn's `stop`. */
  | { readonly type: "done"; readonly reason: DoneReason; readonly stopSequence?: string };

export type DoneReason = "stop" | "length" | "tool-calls" | "content-filter";

/** The tokens of one answer. Counts that an upstream does not report are 0. */
export interface Usage {
  /** All that the model read, whether or not it came from the upstream's prompt cache. */
  readonly inputTokens: number;
  /** All that the model wrote, reasoning included. */
  readonly outputTokens: number;
  /** The part of the input that was read from the prompt cache. */
  readonly cachedTokens: number;
  /** The part of the input that was written to the prompt cache. Some upstreams charge more for it. */
  readonly cacheWrittenTokens: number;
  /** The part of the output that is reasoning. */
  readonly reasoningTokens: number;
  /** True if the upstream reported nothing and the figures are our estimate. */
  readonly isEstimate: boolean;
}
