export interface BenchResult {
  readonly name: string;
  readonly value: number;
  /** Default: `×`, a ratio. */
  readonly unit?: string;
  /** The largest value that passes. Without any bound the figure is only reported. */
  readonly bound?: number;
  /** The smallest value that passes. */
  readonly least?: number;
  readonly note?: string;
}

export const ROUNDS = 5;

export function holds({ value, bound, least }: BenchResult): boolean {
  return (bound === undefined || value <= bound) && (least === undefined || value >= least);
}

/** Measures pieces of work in turn, so that other load on the machine affects all of them. */
export function interleave<Name extends string>(works: Readonly<Record<Name, () => unknown>>): Record<Name, number[]> {
  const names = Object.keys(works) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (const name of names) works[name]();
  for (let round = 0; round < ROUNDS; round++) {
    for (const name of names) {
      const start = process.hrtime.bigint();
      works[name]();
      times[name].push(Number(process.hrtime.bigint() - start));
    }
  }
  return times;
}

/** Returns the median over the rounds of one time divided by the other. */
export function medianRatio(times: readonly number[], baseline: readonly number[]): number {
  return median(times.map((time, round) => time / (baseline[round] ?? Number.NaN)));
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const spreadOf = (values: readonly number[], digits: number): string =>
  `${Math.min(...values).toFixed(digits)}..${Math.max(...values).toFixed(digits)}`;
