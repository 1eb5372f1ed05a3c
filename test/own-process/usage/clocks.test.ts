import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { reportUsage } from "../../../src/usage/reports/usage-report.ts";
import { openUsageDatabase } from "../../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../../src/usage/store/usage-store.ts";
import { aRecord } from "../../usage/support.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const ALWAYS = { fromMs: 0, untilMs: 2 ** 42 };

/** Where days have 23 to 25 hours, begin at one, begin twice, or do not exist, and a moment near that. */
const ZONES = [
  ["UTC", "2026-03-01T00:00:00Z"],
  ["Europe/Berlin", "2026-03-29T01:00:00Z"],
  ["America/New_York", "2026-11-01T06:00:00Z"],
  ["Australia/Lord_Howe", "2026-04-04T15:00:00Z"],
  ["Africa/Cairo", "2026-04-23T22:00:00Z"],
  ["America/Havana", "2026-11-01T05:00:00Z"],
  ["Asia/Kathmandu", "2026-05-05T18:15:00Z"],
  ["Pacific/Apia", "2011-12-30T10:00:00Z"],
] as const;

const zoneBefore = process.env["TZ"];

afterEach(() => {
  vi.useRealTimers();
  if (zoneBefore === undefined) delete process.env["TZ"];
  else process.env["TZ"] = zoneBefore;
});

async function open(now?: () => number, maxAgeMs = 400 * DAY) {
  const connection = await openUsageDatabase(":memory:", () => {});
  const store = new UsageStore(connection, { maxAgeMs, maxBytes: 1e12, onNotice: () => {}, ...(now && { now }) });
  const count = () => connection.prepare("SELECT count(*) AS n FROM request").get()?.["n"];
  return { connection, store, count };
}

describe("days of the usage record", () => {
  it.each(ZONES)("are those of the calendar in %s, whenever a request began", async (zone, near) => {
    process.env["TZ"] = zone;
    const calendar = new Intl.DateTimeFormat("en-CA", { timeZone: zone, dateStyle: "short" });
    const moments = fc.array(fc.integer({ min: -3 * DAY, max: 3 * DAY }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(moments, async (offsets) => {
        const { connection, store } = await open(undefined, 1e14);
        const expected = new Map<string, number>();
        // Beside those at random, each full hour and the millisecond before it.
        const hours = Array.from({ length: 96 }, (_, hour) => (hour - 48) * HOUR);
        for (const offset of [...offsets, ...hours, ...hours.map((ms) => ms - 1)]) {
          const startedAt = Date.parse(near) + offset;
          store.request(aRecord({ startedAt }));
          const day = calendar.format(startedAt);
          expected.set(day, (expected.get(day) ?? 0) + 1);
        }
        store.flush();
        const rows = reportUsage(connection, "day", ALWAYS);
        store.close();
        expect(new Map(rows.map(({ name, requests }) => [name, requests]))).toEqual(expected);
        expect(rows.map(({ name }) => name)).toEqual([...expected.keys()].sort());
      }),
      { numRuns: 5 },
    );
  });
});

describe("a clock that jumps", () => {
  it("forward deletes nothing by age", async () => {
    let now = Date.UTC(2026, 10, 16, 12);
    const { store, count } = await open(() => now);
    store.request(aRecord({ startedAt: now }));
    now += 500 * DAY;
    store.request(aRecord({ startedAt: now }));
    store.flush();
    expect(count()).toBe(2);
  });

  it("does not keep old rows for ever: time that passes makes them old", async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 16, 12) });
    const { store, count } = await open(undefined, DAY);
    store.request(aRecord({ startedAt: Date.now() }));
    store.flush();
    vi.advanceTimersByTime(2 * DAY);
    store.request(aRecord({ startedAt: Date.now() }));
    store.flush();
    expect(count()).toBe(1);
  });

  it("back leaves rows of the future, which are shown with their day and are not spent today", async () => {
    process.env["TZ"] = "UTC";
    const now = Date.UTC(2026, 10, 16, 12);
    const { connection, store } = await open(() => now);
    store.request(aRecord({ startedAt: Date.UTC(2061, 0, 1) }));
    store.request(aRecord({ startedAt: now }));
    store.flush();
    const days = reportUsage(connection, "day", ALWAYS).map(({ name, requests }) => [name, requests]);
    expect(days).toEqual([
      ["2026-11-16", 1],
      ["2061-01-01", 1],
    ]);
    expect(store.spent("owner", now - DAY, now + DAY).requests).toBe(1);
  });
});
