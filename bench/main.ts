import * as frameParser from "./frame-parser.ts";
import type { BenchResult } from "./measure.ts";
import * as textDelta from "./text-delta.ts";

/** Every figure we claim, measured; exit code 1 if one of them does not hold here. */
const results: BenchResult[] = [];
for (const bench of [frameParser, textDelta]) results.push(...(await bench.run()));

const width = Math.max(...results.map(({ name }) => name.length));
for (const { name, value, bound, note } of results) {
  const verdict = bound === undefined ? "     " : value <= bound ? "pass " : "MISS ";
  const limit = bound === undefined ? "" : `≤ ${bound}`;
  console.log(`${verdict} ${name.padEnd(width)}  ${value.toFixed(2).padStart(6)}  ${limit.padEnd(6)} ${note ?? ""}`);
}
const missed = results.filter(({ value, bound }) => bound !== undefined && !(value <= bound));
process.exitCode = missed.length > 0 ? 1 : 0;
