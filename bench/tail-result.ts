import type { BenchResult } from "./measure.ts";
import { medianOf, type Round, ratioOf } from "./testbed.ts";

const BOUND = 2;
const GRACE_US = 5000;

/** A p99 in microseconds: at most twice the floor's, or 5 ms more, since one pause of anybody's makes a tail. */
export function tailResult<Sample>(
  name: string,
  rounds: readonly Round<Sample>[],
  pickUs: (sample: Sample) => number,
): BenchResult {
  const ratio = ratioOf(rounds, pickUs, "µs");
  const moreUs = medianOf(rounds, "gateway", pickUs) - medianOf(rounds, "floor", pickUs);
  const isExcused = ratio.value > BOUND && moreUs <= GRACE_US;
  return {
    name,
    bound: BOUND,
    ...ratio,
    excuse: isExcused ? `${(moreUs / 1000).toFixed(1)} ms more, 5 allowed` : undefined,
  };
}
