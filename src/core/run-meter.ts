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
}
