import { once } from "node:events";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../../app/load-config.ts";
import { usagePath } from "../../app/usage/open-usage.ts";
import { ExcursorError } from "../../core/errors.ts";
import { jsonText } from "../../core/printable.ts";
import { type ChargeReport, type Reconciled, reportCharges } from "../../usage/reports/charge-report.ts";
import { csvLine, EXPORTS } from "../../usage/reports/usage-export.ts";
import type { ExportedRecords, UsageGroup } from "../../usage/reports/usage-groups.ts";
import {
  localDay,
  lostRecords,
  reportUsage,
  startOfDay,
  startOfNextDay,
  type UsageRow,
} from "../../usage/reports/usage-report.ts";
import { openUsageForReading } from "../../usage/store/usage-database.ts";
import { formatTable } from "../terminal/format-table.ts";

interface Period {
  readonly fromMs: number;
  readonly untilMs: number;
}

export async function runUsage({
  by,
  since,
  json,
}: {
  readonly by: UsageGroup;
  readonly since?: string | undefined;
  readonly json: boolean;
}): Promise<void> {
  const period = periodSince(since);
  await withRecord((connection) => {
    const rows = connection ? reportUsage(connection, by, period) : [];
    const lost = connection ? lostRecords(connection) : 0;
    const charges = connection && by === "conversation" ? reportCharges(connection, period) : undefined;
    if (json) {
      const from = new Date(period.fromMs).toISOString();
      const charged = rows.map((row) => ({ ...row, charges: charges?.conversations.get(row.name) }));
      const report = { by, since: from, lostRecords: lost, rows: charged, chargedElsewhere: charges?.elsewhere };
      process.stdout.write(`${jsonText(report, 2)}\n`);
      return;
    }
    if (rows.length === 0) process.stderr.write(`Nothing was used since ${localDay(period.fromMs)}.\n`);
    else process.stdout.write(usageTable(by, rows, charges));
    for (const note of [...notesOn(rows, lost), ...notesOnCharges(charges)]) process.stderr.write(`${note}\n`);
  });
}

export async function runUsageExport({
  of,
  format,
  since,
}: {
  readonly of: ExportedRecords;
  readonly format: "csv" | "jsonl";
  readonly since?: string | undefined;
}): Promise<void> {
  const period = since === undefined ? { fromMs: 0, untilMs: END_OF_TIME } : periodSince(since);
  await withRecord(async (connection) => {
    const write = async (text: string) => {
      if (!process.stdout.write(text)) await once(process.stdout, "drain");
    };
    const { columns, rows } = EXPORTS[of];
    if (format === "csv") await write(`${columns.join(",")}\r\n`);
    if (!connection) return;
    for (const row of rows(connection, period)) {
      await write(format === "csv" ? csvLine(columns, row) : `${jsonText(row)}\n`);
    }
  });
}

const WATCH_MS = 1000;
const HIDE_CURSOR = "\x1b[?25l";
const SHOW_CURSOR = "\x1b[?25h";
const CLEAR = "\x1b[H\x1b[J";

/** On a terminal the table is redrawn in place; elsewhere a line of JSON is printed whenever it changes. */
export async function runUsageWatch({ by }: { readonly by: UsageGroup }): Promise<void> {
  const isTerminal = process.stdout.isTTY === true;
  const abort = new AbortController();
  const stop = () => abort.abort();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, stop);
  if (isTerminal) process.stdout.write(`${HIDE_CURSOR}\x1b[2J`);
  try {
    let shown = "";
    while (!abort.signal.aborted) {
      await withRecord((connection) => {
        const fromMs = startOfDay(Date.now());
        const rows = connection ? reportUsage(connection, by, { fromMs, untilMs: startOfNextDay(fromMs) }) : [];
        const total = `${localDay(fromMs)}: ${rows.reduce((sum, { requests }) => sum + requests, 0)} requests\n`;
        const next = isTerminal ? `${total}${rows.length > 0 ? usageTable(by, rows) : ""}` : jsonText(rows);
        if (next !== shown) process.stdout.write(isTerminal ? CLEAR + next : `${next}\n`);
        shown = next;
      });
      await pause(WATCH_MS, abort.signal);
    }
  } finally {
    if (isTerminal) process.stdout.write(SHOW_CURSOR);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, stop);
  }
}

async function withRecord(work: (connection: DatabaseSync | undefined) => void | Promise<void>): Promise<void> {
  const { home } = loadConfig({ flags: {}, environment: process.env });
  const connection = await openUsageForReading(usagePath(home));
  try {
    await work(connection);
  } finally {
    connection?.close();
  }
}

const END_OF_TIME = 2 ** 42;
const HOUR_MS = 3_600_000;
const DEFAULT_DAYS = 30;

/** Days begin at midnight, local time. `7d` is today and the six days before it. */
function periodSince(since: string | undefined, now = Date.now()): Period {
  const untilMs = END_OF_TIME;
  const daysAgo = (days: number) => {
    const date = new Date(now);
    return new Date(date.getFullYear(), date.getMonth(), date.getDate() - days).getTime();
  };
  if (since === undefined) return { fromMs: daysAgo(DEFAULT_DAYS - 1), untilMs };
  if (since === "today") return { fromMs: daysAgo(0), untilMs };
  const [, count = "", unit] = /^(\d{1,5})([dh])$/.exec(since) ?? [];
  if (unit === "d") return { fromMs: daysAgo(Math.max(0, Number(count) - 1)), untilMs };
  if (unit === "h") return { fromMs: now - Number(count) * HOUR_MS, untilMs };
  const [, year = "", month = "", day = ""] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(since) ?? [];
  const date = new Date(Number(year), Number(month) - 1, Number(day));
  if (year !== "" && localDay(date.getTime()) === since) return { fromMs: date.getTime(), untilMs };
  throw new ExcursorError("bad_time", [JSON.stringify(since)]);
}

const BAR_WIDTH = 16;

/** The bar is the share of the largest row: of the cost if there are prices, else of the tokens. */
function usageTable(by: UsageGroup, rows: readonly UsageRow[], charges?: ChargeReport): string {
  const weigh = rows.some(({ costMicros }) => costMicros > 0)
    ? ({ costMicros }: UsageRow) => costMicros
    : ({ input, output, requests }: UsageRow) => input + output || requests / 1e6;
  const most = Math.max(...rows.map(weigh), 1e-9);
  const heading = [by.toUpperCase(), "REQUESTS", "ERRORS", "INPUT", "CACHED", "OUTPUT", "COST", ""];
  const cacheHeading = [by.toUpperCase(), "REQUESTS", "COULD HIT", "DID HIT", ""];
  const bar = (row: UsageRow) => "█".repeat(Math.round((Math.max(0, weigh(row)) / most) * BAR_WIDTH));
  if (by === "cache") {
    return formatTable(
      cacheHeading,
      rows.map((row) => [row.name, count(row.requests), count(row.cachePossible), count(row.cached), bar(row)]),
    );
  }
  const hasCharges = charges !== undefined && charges.conversations.size > 0;
  return formatTable(
    hasCharges ? heading.toSpliced(-1, 0, "CURSOR", "DIFFERENCE", "CHARGED") : heading,
    rows.map((row) => [
      row.name,
      count(row.requests),
      count(row.errors),
      count(row.input),
      count(row.cached),
      count(row.output),
      cost(row),
      ...(hasCharges ? chargeCells(charges.conversations.get(row.name)) : []),
      bar(row),
    ]),
  );
}

function chargeCells(charges: Reconciled | undefined): readonly string[] {
  if (!charges) return ["-", "-", "-"];
  const { costMicros, differenceMicros, chargedMicros } = charges;
  return [
    money(costMicros),
    `${differenceMicros < 0 ? "-" : "+"}${money(Math.abs(differenceMicros))}`,
    money(chargedMicros),
  ];
}

const money = (micros: number): string => `$${(micros / 1e6).toFixed(micros < 1e6 ? 4 : 2)}`;

function* notesOnCharges(charges: ChargeReport | undefined): Generator<string> {
  if (charges && charges.conversations.size > 0) {
    yield "CURSOR is what the tokens cost by Cursor, DIFFERENCE to our estimate, CHARGED what the plan does not include.";
  }
  if (charges?.elsewhere) {
    const { calls, costMicros } = charges.elsewhere;
    yield `Cursor has billed ${count(calls)} more calls (${money(costMicros)}) of conversations that are not in this record.`;
  }
}

const count = (value: number): string => Math.round(value).toLocaleString("en-US");

function cost({ costMicros, estimated, unpriced, requests }: UsageRow): string {
  if (unpriced >= requests) return "-";
  return `${estimated > 0 ? "~" : ""}${money(costMicros)}${unpriced > 0 ? "+" : ""}`;
}

function* notesOn(rows: readonly UsageRow[], lost: number): Generator<string> {
  if (rows.some(({ estimated }) => estimated > 0)) yield "~ has estimates: by the price list, or of tokens.";
  if (rows.some(({ unpriced }) => unpriced > 0)) {
    yield "- and + have requests to models without a price; set one: excursor config, `prices`.";
  }
  if (lost > 0) yield `${lost} records could not be written and are missing.`;
}

/** Resolves when the time is over or the signal aborts. */
const pause = (ms: number, signal: AbortSignal): Promise<void> => sleep(ms, undefined, { signal }).catch(() => {});
