import { median, spreadOf } from "../harness/measure.ts";
import { judge, type Verdict } from "./verdict.ts";

/** The values of the rounds. */
export interface Measured {
  readonly name: string;
  readonly unit: string;
  /** Empty where the smallest relay cannot do it. */
  readonly floor: readonly number[];
  readonly other: readonly number[];
  readonly this: readonly number[];
}

export interface Compared {
  readonly name: string;
  readonly unit: string;
  /** Medians. */
  readonly floor: number | undefined;
  readonly other: number;
  readonly this: number;
  /** Of this checkout to the other: the median of the rounds' ratios, and their range. */
  readonly ratio: number;
  readonly range: string;
  /** Of this checkout to the floor: the median of the rounds' ratios. */
  readonly toFloor: number | undefined;
  readonly verdict: Verdict;
}

export function compareRounds({ name, unit, floor, other, this: ours }: Measured): Compared {
  const ratios = (theirs: readonly number[]) => theirs.map((value, round) => (ours[round] ?? Number.NaN) / value);
  const hasFloor = floor.length > 0;
  return {
    name,
    unit,
    floor: hasFloor ? median(floor) : undefined,
    other: median(other),
    this: median(ours),
    ratio: median(ratios(other)),
    range: spreadOf(ratios(other), 2),
    toFloor: hasFloor ? median(ratios(floor)) : undefined,
    verdict: judge(ours, other),
  };
}

const HEAD = ["", "", "floor", "other", "this", "this/other", "range", "this/floor", ""];

export function formatTable(figures: readonly Compared[]): string {
  const rows = figures.map(({ name, unit, ...values }) => [
    name,
    unit,
    digits(values.floor),
    digits(values.other),
    digits(values.this),
    values.ratio.toFixed(2),
    values.range,
    values.toFloor?.toFixed(2) ?? "–",
    values.verdict,
  ]);
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...rows].map((row) => row[column]?.length ?? 0)));
  const isText = (column: number) => column < 2 || column === HEAD.length - 1;
  return [HEAD, ...rows]
    .map((row) =>
      row.map((cell, column) =>
        isText(column) ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      ),
    )
    .map((row) => row.join("  ").trimEnd())
    .join("\n");
}

const digits = (value: number | undefined): string =>
  value === undefined ? "–" : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
