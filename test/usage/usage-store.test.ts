import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NO_USAGE } from "../../src/core/rules/usage-estimate.ts";
import { liftLimits } from "../../src/usage/limits/lift-limits.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";
import { aCall, aCharge, aRecord, aRun } from "./support.ts";

const NOON = Date.UTC(2026, 10, 16, 12);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let home: string;
const stores: UsageStore[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-usage-"));
});

afterEach(() => {
  vi.useRealTimers();
  for (const store of stores.splice(0)) store.close();
  rmSync(home, { recursive: true, force: true });
});

async function open(options: { maxBytes?: number; maxAgeMs?: number; now?: () => number } = {}) {
  const notices: string[] = [];
  const path = join(home, "usage.db");
  const onNotice = (text: string) => notices.push(text);
  const connection = await openUsageDatabase(path, onNotice);
  const store = new UsageStore(connection, {
    maxAgeMs: 400 * DAY,
    maxBytes: 1e9,
    now: () => NOON,
    onNotice,
    ...options,
  });
  stores.push(store);
  const count = (table = "request") => connection.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.["n"];
  return { store, connection, notices, count, path };
}

describe("the store of the usage record", () => {
  it("writes in batches, soon after the first record, then a second after the last write, and at close", async () => {
    vi.useFakeTimers();
    const { store, count } = await open();
    for (let n = 0; n < 5; n++) store.request(aRecord());
    store.toolCall(aCall());
    vi.advanceTimersByTime(99);
    expect(count()).toBe(0);
    vi.advanceTimersByTime(1);
    expect([count(), count("tool_call")]).toEqual([5, 1]);
    vi.advanceTimersByTime(200);
    store.request(aRecord());
    vi.advanceTimersByTime(799);
    expect(count()).toBe(5);
    vi.advanceTimersByTime(1);
    expect(count()).toBe(6);
    store.request(aRecord());
    store.close();
    expect((await open()).count()).toBe(7);
  });

  it("lets no record wait for longer than a second, whenever it comes", async () => {
    vi.useFakeTimers();
    const { store, count } = await open();
    let made = 0;
    for (let waitMs = 0; waitMs < 3000; waitMs += 70) {
      vi.advanceTimersByTime(waitMs);
      store.request(aRecord());
      made++;
      vi.advanceTimersByTime(1000);
      expect(count()).toBe(made);
    }
  });

  it("goes on without a disk that is full: records wait, then the oldest are lost, counted and told", async () => {
    const { store, connection, notices, count } = await open();
    const pages = connection.prepare("PRAGMA page_count").get()?.["page_count"];
    connection.exec(`PRAGMA max_page_count = ${pages}`);
    for (let n = 0; n < 10_003; n++) store.request(aRecord({ startedAt: NOON + n }));
    expect(store.flush()).toBe(false);
    expect([count(), store.lost]).toEqual([0, 3]);
    expect(notices).toEqual([expect.stringMatching(/full.*3 records are lost/)]);
    connection.exec("PRAGMA max_page_count = 1000000");
    expect(store.flush()).toBe(true);
    expect(count()).toBe(10_000);
    expect(connection.prepare("SELECT value FROM fact WHERE name = 'lost'").get()).toEqual({ value: 3 });
    // A batch that failed in the middle has left nothing behind.
    expect(store.spent("owner", NOON, NOON + HOUR).requests).toBe(10_000);
  });

  it("counts a record once, whether or not it is written, and after a restart", async () => {
    const { store } = await open();
    const spent = (from: UsageStore) => from.spent("owner", NOON - DAY, NOON + DAY);
    store.request(aRecord({ cost: { micros: 7, isEstimate: false, source: "settings" } }));
    const expected = { requests: 1, tokens: 120, dollars: 7 };
    expect(spent(store)).toMatchObject(expected);
    store.flush();
    store.flush();
    expect(spent(store)).toMatchObject(expected);
    store.close();
    expect(spent((await open()).store)).toMatchObject(expected);
  });

  it("keeps two processes apart that write at the same moment", async () => {
    const [first, second] = [await open(), await open()];
    for (const { store } of [first, second]) {
      store.request(aRecord());
      store.request(aRecord());
      store.flush();
    }
    expect(first.count()).toBe(4);
    expect(first.store.spent("owner", NOON, NOON + 1).requests).toBe(4);
  });

  it("gives what a principal has used in a window, and nobody else's", async () => {
    const { store } = await open();
    for (const [hours, principalId] of [
      [-1, "owner"],
      [0, "owner"],
      [1, "owner"],
      [0, "key_a"],
    ] as const) {
      store.request(aRecord({ startedAt: NOON + hours * HOUR, principalId }));
    }
    const both = () => [store.spent("owner", NOON, NOON + HOUR).requests, store.spent("owner", 0, 2 * NOON).requests];
    expect(both()).toEqual([1, 3]);
    store.flush();
    expect(both()).toEqual([1, 3]);
  });

  it("gives what a principal has used in a minute", async () => {
    const { store, connection } = await open();
    const minute = Math.floor(NOON / MINUTE) * MINUTE;
    for (const at of [-1, 0, MINUTE - 1, MINUTE]) store.request(aRecord({ startedAt: minute + at }));
    store.request(aRecord({ startedAt: minute, principalId: "key_a" }));
    const tokens = () => store.spentInMinute("owner", minute).tokens;
    expect(tokens()).toBe(240);
    store.flush();
    expect(tokens()).toBe(240);
    store.request(aRecord({ startedAt: minute }));
    expect(tokens()).toBe(360);
    liftLimits(connection, "owner", minute + 1);
    expect(tokens()).toBe(120);
  });

  it("gives what a principal has used in a conversation, since its limits were lifted", async () => {
    const { store, connection } = await open();
    const cost = { micros: 7, isEstimate: false, source: "settings" };
    store.request(aRecord({ startedAt: NOON - HOUR, cost }));
    store.request(aRecord({ cost }));
    store.request(aRecord({ status: 429, usage: undefined }));
    store.request(aRecord({ principalId: "key_a" }));
    const spent = () => store.spentIn("abcdefghijklmnop", "owner");
    const both = { requests: 3, tokens: 240, dollars: 14 };
    expect(spent()).toEqual(both);
    store.flush();
    expect(spent()).toEqual(both);
    // It is not written when the limits are lifted, and still does not count.
    store.request(aRecord({ startedAt: NOON - 2 }));
    liftLimits(connection, "owner", NOON - 1);
    const tokens = () => [spent().tokens, store.spent("owner", 0, NOON + DAY).tokens];
    expect(tokens()).toEqual([120, 0]);
    store.flush();
    expect(tokens()).toEqual([120, 0]);
    store.request(aRecord({ startedAt: NOON }));
    expect(tokens()).toEqual([240, 120]);
    expect(store.spent("key_a", 0, NOON + DAY).tokens).toBe(120);
  });

  it("gives the average of the last answered requests of a principal, after a restart, too", async () => {
    const { store } = await open();
    const usageOf = (inputTokens: number) => ({ ...NO_USAGE, inputTokens, outputTokens: 100 });
    const cost = { micros: 30, isEstimate: false, source: "settings" };
    for (let n = 0; n < 40; n++) store.request(aRecord({ startedAt: NOON - HOUR + n, usage: usageOf(9900) }));
    for (let n = 0; n < 50; n++)
      store.request(aRecord({ startedAt: NOON + n, usage: usageOf(100 + (n % 2) * 200), cost }));
    // Neither has used anything: one was refused, one corrects estimates.
    store.request(aRecord({ startedAt: NOON + 60, usage: undefined, status: 429 }));
    store.request(aRecord({ startedAt: NOON + 61, usage: usageOf(-5000) }));
    for (let n = 0; n < 60; n++) store.request(aRecord({ startedAt: NOON + DAY + n, principalId: "key_a" }));
    store.close();
    const again = (await open()).store;
    expect(again.usual("owner")).toEqual({ tokens: 300, dollars: 30 });
    expect(again.usual("key_a")).toEqual({ tokens: 120, dollars: 0 });
    expect(again.usual("key_b")).toBeUndefined();
  });

  it("deletes rows that are too old, and keeps the sums", async () => {
    const { store, count } = await open({ maxAgeMs: DAY });
    store.request(aRecord({ startedAt: NOON - DAY - 1 }));
    store.toolCall(aCall({ askedAt: NOON - DAY - 1 }));
    store.request(aRecord({ startedAt: NOON - DAY + 1 }));
    store.flush();
    expect([count(), count("tool_call")]).toEqual([1, 0]);
    expect(store.spent("owner", 0, 2 * NOON).requests).toBe(2);
  });

  it.each([
    ["age", { maxAgeMs: DAY }],
    ["size", { maxBytes: 200_000 }],
  ])("deletes old rows of every kind, by %s", async (_, limit) => {
    const { store, count } = await open(limit);
    const [old, young] = [NOON - 2 * DAY, NOON];
    for (const at of [old, young]) {
      for (let n = 1; n <= 1000; n++) store.request(aRecord({ startedAt: at - n }));
      store.setCharges("a", { fromMs: at, untilMs: at }, [aCharge({ at })]);
      store.toolCall(aCall({ callId: String(at), askedAt: at }));
      store.run(aRun({ id: String(at), startedAt: at }));
    }
    store.flush();
    expect(["charge", "tool_call", "run"].map((table) => count(table))).toEqual([1, 1, 1]);
    expect(store.latestCharge("a")).toBe(young);
    expect(count()).toBeLessThanOrEqual(1000);
  });

  it("deletes the oldest rows when the file is too large", async () => {
    const { store, connection } = await open({ maxBytes: 200_000 });
    for (let n = 0; n < 2000; n++) store.request(aRecord({ startedAt: NOON + n }));
    store.flush();
    const { rows, first } =
      connection.prepare("SELECT count(*) AS rows, min(at) / 1024 AS first FROM request").get() ?? {};
    expect(rows).toBeLessThan(1500);
    expect(rows).toBeGreaterThan(300);
    expect(first).toBe(NOON + 2000 - Number(rows));
  });

  it("takes at most 600 bytes for a request", async () => {
    const { store, connection, path } = await open();
    for (let n = 0; n < 5000; n++) {
      const cost = { micros: 1234, isEstimate: false, source: "genai-prices 0.1.8" };
      const cache = { possibleTokens: 12_345, actualTokens: 0, reason: "instructions" } as const;
      store.request(aRecord({ startedAt: NOON + n * 50, conversation: `conversation-${n % 500}`, cost, cache }));
    }
    store.flush();
    connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    expect(statSync(path).size / 5000).toBeLessThan(600);
  });

  it("puts a damaged file aside and begins anew", async () => {
    writeFileSync(join(home, "usage.db"), "not a database, for sure".repeat(100), { mode: 0o600 });
    const { count, notices } = await open();
    expect(count()).toBe(0);
    expect(notices).toEqual([expect.stringContaining("usage.db.corrupt")]);
  });
});
