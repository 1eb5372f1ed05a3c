import type { Usage } from "./events.ts";

/** Who counted the tokens: the upstream at the end, the upstream while it answered, or our estimate. */
export type UsageOrigin = "upstream" | "running" | "estimate";

/** Counts what the runs of a request use. It must be fast. */
export interface RunMeter {
  /**
   * Called once for each part of a run, when it is over: the part ends with tool calls, with the answer, by an error or by
   * a cancel. If the upstream reports the usage of the whole run at its end, the last part gets the difference, and its
   * figures may be negative.
   */
  used(usage: Usage, origin: UsageOrigin): void;
  /**
   * Called with each batch of a part of a run: what it has used so far, by estimate. If it throws, the run is cancelled and
   * the answer fails with that error. Absent: nothing limits the answer, and it costs nothing.
   */
  grow?: ((inputTokens: number, outputTokens: number) => void) | undefined;
  /** Called after the end, if the upstream reports the usage late: how much it differs from what was told before. */
  corrected?(difference: Usage): void;
  /** Called before a run is opened for the request. Absent: runs are not watched. */
  opens?(): RunWatch;
  /** Called when the request goes on with a run that has waited. */
  goesOn?(watch: RunWatch): void;
}

/** How a part of a run ended. `parked`: the run waits for tool results. Otherwise it is over. */
export type RunEnding = "parked" | "completed" | "failed" | "cancelled";

/** Is told of one run, over all requests that it answers. It must be fast and must not throw. */
export interface RunWatch {
  /** The run's request is sent; once for each attempt. */
  sent(upstream: UpstreamRun): void;
  /** A part of the run is over, or the run ends while it waits. `used` is absent if that has cost nothing. */
  ended(ending: RunEnding, used?: { readonly usage: Usage; readonly origin: UsageOrigin }): void;
  /** The upstream has reported the usage of the run after its end. It differs so much from what was told before. */
  corrected(difference: Usage): void;
}

/** What the upstream knows of a run. */
export interface UpstreamRun {
  /** The upstream's id of the conversation. */
  readonly conversation: string;
  /** The account that pays. Undefined if it is the caller's own. */
  readonly account: string | undefined;
  /** What the upstream begins with: nothing, its own state of the conversation, or the client's transcript. */
  readonly start: "fresh" | "checkpoint" | "transcript";
}
