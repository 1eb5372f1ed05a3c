import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RequestRecord, RunRecord } from "../../src/usage/record/records.ts";
import { reportUsage } from "../../src/usage/reports/usage-report.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { type BenchResult, interleave, median, medianRatio, spreadOf } from "../harness/measure.ts";

const REQUESTS = 1_000_000;
const BATCH = 5_000;
const DAYS = 365;
const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 0, 1);
const ALWAYS = { fromMs: 0, untilMs: 2 ** 42 };

/**
 * The usage record with a million requests, each with its run: the size of the file, the time of a report, and what a
 * request costs to write.
 */
export async function measureUsageRecord(): Promise<BenchResult[]> {
  const home = mkdtempSync(join(tmpdir(), "excursor-bench-usage-"));
  try {
    const path = join(home, "usage.db");
    const connection = await openUsageDatabase(path, console.error);
    const store = new UsageStore(connection, { maxAgeMs: 1e15, maxBytes: 1e12, onNotice: console.error });
    const cpu = process.cpuUsage();
    for (let begun = 0; begun < REQUESTS; begun += BATCH) {
      for (let index = begun; index < begun + BATCH; index++) {
        const record = aRequest(index);
        store.request(record);
        store.run(aRun(record));
      }
      store.flush();
    }
    const { user, system } = process.cpuUsage(cpu);
    connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const bytes = statSync(path).size;
    // Reads what the report sums up, of every row.
    const scan = connection.prepare(
      `SELECT count(*), total(status >= 400), total(input), total(output), total(cached), total(cache_written),
        total(reasoning), total(cost_micros), total(cost_estimated), total(cache_possible) FROM request`,
    );
    const times = interleave({
      scan: () => scan.get(),
      report: () => reportUsage(connection, "day", ALWAYS),
    });
    const ratios = times.report.map((time, round) => time / (times.scan[round] ?? Number.NaN));
    const ms = (all: readonly number[]) => (median(all) / 1e6).toFixed(0);
    store.close();
    return [
      { name: "usage record: bytes of a request with its run", value: bytes / REQUESTS, unit: "bytes", bound: 600 },
      {
        name: "usage record: a million requests by day / one scan",
        value: medianRatio(times.report, times.scan),
        bound: 2,
        note: `${spreadOf(ratios, 2)}; ${ms(times.report)} against ${ms(times.scan)} ms`,
      },
      {
        name: "usage record: CPU to write a request and its run",
        value: (user + system) / REQUESTS,
        unit: "µs",
        note: "in batches; the records are made in it, too",
      },
    ];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const aRequest = (index: number): RequestRecord => ({
  id: randomUUID(),
  startedAt: START + Math.floor((index * DAYS * DAY_MS) / REQUESTS),
  principalId: index % 3 === 0 ? "key_0123456789ab" : "owner",
  keyName: index % 3 === 0 ? "laptop" : "owner",
  client: "claude-code",
  face: "anthropic-messages",
  route: "/v1/messages",
  modelAsked: "claude-sonnet-4.5",
  modelServed: "claude-sonnet-4.5",
  driver: "cursor",
  conversation: randomBytes(12).toString("base64url"),
  status: index % 50 === 0 ? 429 : 200,
  errorCode: index % 50 === 0 ? "rate_limit_exceeded" : undefined,
  firstTokenMs: 812.3 + (index % 100),
  durationMs: 2041.7 + (index % 1000),
  phases: { gate: 0.4, parse: 1.1, credential: 0.2, checkpoint: 3.4, "first-frame": 807.1, model: 1229.4 },
  usage: {
    inputTokens: 20_000 + (index % 9000),
    outputTokens: 400 + (index % 300),
    cachedTokens: 18_000,
    cacheWrittenTokens: 900,
    reasoningTokens: 120,
    isEstimate: false,
  },
  usageOrigin: "upstream",
  run: { type: index % 4 === 0 ? "fresh" : "resumed" },
  cost: { micros: 17_000 + (index % 900), isEstimate: true, source: "genai-prices 0.1.8 (2026-09-23)" },
  cache: { possibleTokens: 18_500, actualTokens: 18_000, reason: undefined },
});

const aRun = (request: RequestRecord): RunRecord => ({
  id: randomBytes(12).toString("base64url"),
  startedAt: request.startedAt,
  principalId: request.principalId,
  requestIds: [request.id],
  driver: request.driver,
  model: request.modelServed,
  conversation: request.conversation,
  upstreamConversation: randomUUID(),
  account: "default",
  start: { type: "fresh" },
  parkedMs: 0,
  durationMs: 2041,
  outcome: "completed",
  usage: request.usage,
  usageOrigin: request.usageOrigin,
});
