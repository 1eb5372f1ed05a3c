import type { DatabaseSync } from "node:sqlite";
import { PHASES } from "../store/request-rows.ts";
import { KEYS_PER_MS } from "../store/row-values.ts";
import { RUN_COLUMNS } from "../store/run-rows.ts";
import type { ExportedRecords } from "./usage-groups.ts";

type Exported = Readonly<Record<string, string | number | null>>;

type Range = { readonly fromMs: number; readonly untilMs: number };

function* exportRequests(connection: DatabaseSync, { fromMs, untilMs }: Range): Generator<Exported> {
  const all = connection.prepare("SELECT * FROM request WHERE at >= ? AND at < ? ORDER BY at");
  for (const row of all.iterate(fromMs * KEYS_PER_MS, untilMs * KEYS_PER_MS)) {
    const { at, phases, principal: _, ...rest } = row as Record<string, string | number | null>;
    const times = String(phases).split(",");
    yield {
      time: timeOf(Number(at) / KEYS_PER_MS),
      ...rest,
      ...Object.fromEntries(
        PHASES.map((name, index) => [`${name.replace("-", "_")}_ms`, Number(times[index]) || null]),
      ),
    };
  }
}

const REQUEST_COLUMNS: readonly string[] = [
  "time",
  "id",
  "key_name",
  "client",
  "face",
  "route",
  "model_asked",
  "model",
  "driver",
  "conversation",
  "status",
  "error",
  "first_ms",
  "ms",
  "input",
  "output",
  "cached",
  "cache_written",
  "reasoning",
  "origin",
  "run",
  "run_reason",
  "cost_micros",
  "cost_estimated",
  "cost_source",
  "cache_possible",
  "cache_reason",
  ...PHASES.map((name) => `${name.replace("-", "_")}_ms`),
];

/** Returns one line of a CSV file by RFC 4180. A cell that a spreadsheet would run as a formula gets a quote before it. */
export function csvLine(columns: readonly string[], row: Exported): string {
  const cells = columns.map((name) => {
    const value = row[name] ?? "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  });
  return `${cells.join(",")}\r\n`;
}

function* exportRuns(connection: DatabaseSync, { fromMs, untilMs }: Range): Generator<Exported> {
  const all = connection.prepare("SELECT * FROM run WHERE at >= ? AND at < ? ORDER BY at");
  for (const row of all.iterate(fromMs * KEYS_PER_MS, untilMs * KEYS_PER_MS)) {
    const { at, principal: _, upstream_conversation, ...rest } = row;
    const upstream =
      upstream_conversation instanceof Uint8Array ? uuidOf(upstream_conversation) : upstream_conversation;
    yield { time: timeOf(Number(at) / KEYS_PER_MS), ...rest, upstream_conversation: upstream } as Exported;
  }
}

function* exportToolCalls(connection: DatabaseSync, { fromMs, untilMs }: Range): Generator<Exported> {
  const all = connection.prepare("SELECT * FROM tool_call WHERE asked_at >= ? AND asked_at < ? ORDER BY asked_at");
  for (const row of all.iterate(fromMs, untilMs)) {
    const { asked_at, answered_at, scope: _, principal: __, ...rest } = row;
    const answered = answered_at === null ? null : timeOf(Number(answered_at));
    yield { time: timeOf(Number(asked_at)), answered, ...rest } as Exported;
  }
}

const timeOf = (ms: number): string => new Date(Math.floor(ms)).toISOString();

/** Returns the text of a UUID that is stored as its bytes. */
export const uuidOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");

/** One kind of record as it is exported: its columns, and all records of a range of time, oldest first. */
interface Export {
  readonly columns: readonly string[];
  rows(connection: DatabaseSync, range: Range): Generator<Exported>;
}

export const EXPORTS: Readonly<Record<ExportedRecords, Export>> = {
  requests: { columns: REQUEST_COLUMNS, rows: exportRequests },
  runs: {
    columns: ["time", ...RUN_COLUMNS.filter((name) => name !== "at" && name !== "principal")],
    rows: exportRuns,
  },
  "tool-calls": {
    columns: ["time", "answered", "call_id", "request_id", "ran_by", "server", "tool", "outcome", "bytes"],
    rows: exportToolCalls,
  },
};
