import type { DatabaseSync } from "node:sqlite";
import { KEYS_PER_MS } from "../store/row-values.ts";

/** The sums of the requests that began in one part of a series. */
export interface SeriesPoint {
  /** Its start, in milliseconds since the epoch. */
  readonly at: number;
  readonly requests: number;
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** The mean time to the first token; null if no request had one. */
  readonly firstTokenMs: number | null;
  readonly costMicros: number;
}

/**
 * Sums up the requests between moments, each part from one moment to the next. Lets other work run between two parts,
 * since a part of a month may have many rows.
 */
export async function readSeries(
  connection: DatabaseSync,
  moments: readonly number[],
): Promise<readonly SeriesPoint[]> {
  const sums = connection.prepare(
    `SELECT count(*) AS requests, total(status >= 400) AS errors, total(input) AS inputTokens,
      total(output) AS outputTokens, avg(first_ms) AS firstTokenMs, total(cost_micros) AS costMicros
      FROM request WHERE at >= ? AND at < ?`,
  );
  const points: SeriesPoint[] = [];
  for (const [index, at] of moments.slice(0, -1).entries()) {
    const row = sums.get(at * KEYS_PER_MS, (moments[index + 1] ?? at) * KEYS_PER_MS);
    points.push({ at, ...(row as unknown as Omit<SeriesPoint, "at">) });
    if (Number(row?.["requests"]) > MANY) await new Promise(setImmediate);
  }
  return points;
}

/** Rows after which other work gets its turn. */
const MANY = 2000;

export type SeriesRange = "hour" | "day" | "month";

const MINUTE_MS = 60_000;

/** Returns the moments of a range up to now: 60 minutes, 96 quarters of an hour, or 31 days of local time. */
export function seriesMoments(range: SeriesRange, now: number): readonly number[] {
  if (range === "month") {
    const { year, month, day } = dayOf(now);
    return Array.from({ length: 32 }, (_, index) => new Date(year, month, day - 30 + index).getTime());
  }
  const [step, count] = range === "hour" ? [MINUTE_MS, 60] : [15 * MINUTE_MS, 96];
  const end = (Math.floor(now / step) + 1) * step;
  return Array.from({ length: count + 1 }, (_, index) => end - (count - index) * step);
}

function dayOf(now: number) {
  const date = new Date(now);
  return { year: date.getFullYear(), month: date.getMonth(), day: date.getDate() };
}
