/** One figure that we claim: a ratio, measured within one run, and the bound it must keep. */
export interface BenchResult {
  readonly name: string;
  readonly value: number;
  /** The value must not be larger. Without one the figure is for information. */
  readonly bound?: number;
  readonly note?: string;
}

const ROUNDS = 5;

/** Times two or more pieces of work in turn, so that whatever else the machine does hits all of them alike. */
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

/** The median over the rounds of one time divided by the other. */
export function medianRatio(times: readonly number[], baseline: readonly number[]): number {
  return median(times.map((time, round) => time / (baseline[round] ?? Number.NaN)));
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
