import type { Activity } from "./activity.ts";
import type { JsonObject } from "./turn.ts";

/**
 * One event of an answer. Errors are not events: they are thrown, as `ExcursorError`. A `text` is always what the model
 * wrote; messages of ours are notices or errors.
 *
 * An answer is any number of these, ended by exactly one `done`. Notices that become headers (`ignored`, `trimmed`,
 * `answered_by`) come before all others.
 */
export type TurnEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  /** Ends a block of thinking. The signature proves to the upstream, in a later turn, that the thinking is its own. */
  | { readonly type: "thinking-done"; readonly durationMs: number; readonly signature?: string }
  /** Begins a tool call whose arguments follow as pieces of JSON. Only from upstreams that stream arguments. */
  | { readonly type: "tool-call-start"; readonly id: string; readonly name: string }
  | { readonly type: "tool-call-delta"; readonly id: string; readonly json: string }
  /** The complete call. Pieces that were streamed before add up to the same arguments. */
  | {
      readonly type: "tool-call";
      readonly id: string;
      readonly name: string;
      readonly args: JsonObject;
      /** A request of the upstream's own that a tool of the client serves. */
      readonly isNative?: true;
    }
  /**
   * The usage of the answer so far. Later events replace earlier ones. A driver sends the upstream's own figures at most once
   * before each `done`, as the last usage. Running counts before it are estimates, and never shrink.
   */
  | { readonly type: "usage"; readonly usage: Usage }
  /** A message for a log line, header or status line. It is never shown as the model's text. */
  | { readonly type: "notice"; readonly code: string; readonly text: string }
  /** What an agent does or asks on its own. Only in turns with `showsActivity`. */
  | { readonly type: "activity"; readonly activity: Activity }
  /** The last event. `stopSequence` is the text of the turn's `stop` that ended the answer. */
  | { readonly type: "done"; readonly reason: DoneReason; readonly stopSequence?: string };

/** `tool-calls`: the model waits for results. `length`: the output or context limit was reached. */
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
