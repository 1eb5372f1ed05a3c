import type { UsageOrigin } from "../../core/run-meter.ts";

const CERTAINTY: readonly UsageOrigin[] = ["upstream", "running", "estimate"];

/** Returns the origin that is less certain. */
export const leastCertain = (one: UsageOrigin | undefined, other: UsageOrigin): UsageOrigin =>
  one !== undefined && CERTAINTY.indexOf(one) > CERTAINTY.indexOf(other) ? one : other;
