import { median } from "../harness/measure.ts";

export type Verdict = "better" | "worse" | "within noise";

/** A smaller difference of the medians is never a verdict. */
const LEAST_SHARE = 0.03;

/**
 * Compares two sides of a figure of which less is better, measured in the same rounds. They part if one was above the other in
 * all rounds but at most one, and their medians are further apart than the rounds of either side without its smallest and
 * its largest, and than 3 %.
 */
export function judge(mine: readonly number[], other: readonly number[]): Verdict {
  const [ours, theirs] = [median(mine), median(other)];
  const agreeing = mine.filter(
    (value, round) => Math.sign(value - (other[round] ?? Number.NaN)) === Math.sign(ours - theirs),
  );
  const least = Math.max(middleRange(mine), middleRange(other), LEAST_SHARE * theirs);
  if (agreeing.length < mine.length - 1 || Math.abs(ours - theirs) <= least) return "within noise";
  return ours < theirs ? "better" : "worse";
}

function middleRange(values: readonly number[]): number {
  const middle = values.toSorted((a, b) => a - b).slice(1, -1);
  return (middle.at(-1) ?? 0) - (middle[0] ?? 0);
}
