import type { DatabaseSync } from "node:sqlite";
import { KEYS_PER_MS } from "../store/row-values.ts";
import type { UsageGroup } from "./usage-groups.ts";

/** The sums of one group. */
export interface UsageRow {
  readonly name: string;
  readonly requests: number;
  readonly errors: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly cacheWritten: number;
  readonly reasoning: number;
  /** Millionths of a US dollar, of the requests that have a price. */
  readonly costMicros: number;
  /** Requests that used tokens and have no price. */
  readonly unpriced: number;
  /** Requests whose cost is an estimate. */
  readonly estimated: number;
  /** Tokens that could have come from the prompt cache. */
  readonly cachePossible: number;
}

const SUMS = `count(*) AS requests, total(status >= 400) AS errors, total(input) AS input, total(output) AS output,
  total(cached) AS cached, total(cache_written) AS cacheWritten, total(reasoning) AS reasoning,
  total(cost_micros) AS costMicros, total(input IS NOT NULL AND cost_micros IS NULL) AS unpriced,
  total(cost_estimated) AS estimated, total(cache_possible) AS cachePossible`;

const COLUMNS: Readonly<Record<Exclude<UsageGroup, "day">, string>> = {
  model: "coalesce(model, model_asked, 'none')",
  key: "key_name",
  client: "client",
  conversation: "coalesce(conversation, 'none')",
  cache: "coalesce(cache_reason, CASE WHEN cache_possible > 0 THEN 'hit' ELSE 'first turn' END)",
};

/** Sums up the requests that began in a range of time, by a group; days are those of the local time zone. */
export function reportUsage(
  connection: DatabaseSync,
  group: UsageGroup,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): readonly UsageRow[] {
  if (group === "day") return reportDays(connection, fromMs, untilMs);
  const where = group === "cache" ? "AND cache_possible IS NOT NULL" : "";
  const rows = connection
    .prepare(
      `SELECT ${COLUMNS[group]} AS name, ${SUMS} FROM request WHERE at >= ? AND at < ? ${where}
        GROUP BY 1 ORDER BY total(cost_micros) DESC, total(input) + total(output) DESC, name`,
    )
    .all(fromMs * KEYS_PER_MS, untilMs * KEYS_PER_MS);
  return rows as unknown as readonly UsageRow[];
}

/** One range of the table for each day, so that all days together are one scan. */
function reportDays(connection: DatabaseSync, fromMs: number, untilMs: number): readonly UsageRow[] {
  // Each is one look-up; both in one SELECT would be a scan of their own.
  const edge = (of: "min" | "max") =>
    connection
      .prepare(`SELECT ${of}(at) AS at FROM request WHERE at >= ? AND at < ?`)
      .get(fromMs * KEYS_PER_MS, untilMs * KEYS_PER_MS)?.["at"];
  const [first, last] = [edge("min"), edge("max")];
  if (typeof first !== "number" || typeof last !== "number") return [];
  const sums = connection.prepare(`SELECT ${SUMS} FROM request WHERE at >= ? AND at < ?`);
  const end = Math.min(untilMs, Math.floor(last / KEYS_PER_MS) + 1);
  const rows: UsageRow[] = [];
  for (let start = Math.max(fromMs, Math.floor(first / KEYS_PER_MS)); start < end; ) {
    const next = Math.min(end, startOfNextDay(start));
    const row = sums.get(start * KEYS_PER_MS, next * KEYS_PER_MS) as unknown as Omit<UsageRow, "name">;
    if (row.requests > 0) rows.push({ name: localDay(start), ...row });
    start = next;
  }
  return rows;
}

/** Returns midnight after a moment, in local time: 23 to 25 hours are a day. */
export function startOfNextDay(ms: number): number {
  const date = new Date(ms);
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() + 1).getTime();
}

/** Returns midnight before a moment, in local time. */
export function startOfDay(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}

/** Returns the day of a moment in local time, such as `2026-11-16`. */
export function localDay(ms: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** How many records were never written, by all gateways that used this record. */
export function lostRecords(connection: DatabaseSync): number {
  return Number(connection.prepare("SELECT value FROM fact WHERE name = 'lost'").get()?.["value"] ?? 0);
}
