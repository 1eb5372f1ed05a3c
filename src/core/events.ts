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

export interface Usage {
  /** All that the model read, cached or not. */
  readonly inputTokens: number;
  /** All that it wrote, reasoning included. */
  readonly outputTokens: number;
  /** Part of the input. */
  readonly cachedTokens: number;
  /** Part of the output. */
  readonly reasoningTokens: number;
  /** The upstream gave no figures; these are ours. */
  readonly isEstimate: boolean;
}
