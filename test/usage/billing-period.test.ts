import { describe, expect, it } from "vitest";
import { billingPeriodAt } from "../../src/usage/limits/billing-period.ts";
import { openUsageDatabase } from "../../src/usage/store/usage-database.ts";
import { UsageStore } from "../../src/usage/store/usage-store.ts";

const at = (text: string): number => Date.parse(text);
const iso = ({ startMs, endMs, source }: ReturnType<typeof billingPeriodAt>) => [
  new Date(startMs).toISOString(),
  new Date(endMs).toISOString(),
  source,
];

describe("the billing period", () => {
  const known = { startMs: at("2026-10-31T08:15:00Z"), endMs: at("2026-11-30T08:15:00Z") };

  it("is the calendar month, in UTC, and says so, while Cursor has not named one", () => {
    expect(iso(billingPeriodAt(at("2026-11-16T12:00:00Z")))).toEqual([
      "2026-11-01T00:00:00.000Z",
      "2026-12-01T00:00:00.000Z",
      "calendar-month",
    ]);
  });

  it("is the one that Cursor has named", () => {
    expect(billingPeriodAt(at("2026-11-30T08:14:59Z"), known)).toEqual({ ...known, source: "cursor" });
  });

  it("goes on after its end, on the same day of the month", () => {
    expect(iso(billingPeriodAt(known.endMs, known))).toEqual([
      "2026-11-30T08:15:00.000Z",
      "2026-12-30T08:15:00.000Z",
      "projected",
    ]);
    expect(iso(billingPeriodAt(at("2027-03-01T00:00:00Z"), known))).toEqual([
      "2027-02-28T08:15:00.000Z",
      "2027-03-30T08:15:00.000Z",
      "projected",
    ]);
  });

  it("is the calendar month after a clock has jumped back, years later, and for nonsense", () => {
    for (const now of ["2025-01-05T00:00:00Z", "2036-01-05T00:00:00Z"]) {
      expect(billingPeriodAt(at(now), known).source).toBe("calendar-month");
    }
    const reversed = { startMs: known.endMs, endMs: known.startMs };
    expect(billingPeriodAt(at("2026-11-16T12:00:00Z"), reversed).source).toBe("calendar-month");
  });

  it("is kept for each account, across restarts", async () => {
    let now = at("2026-11-16T12:00:00Z");
    const connection = await openUsageDatabase(":memory:", () => {});
    const open = () =>
      new UsageStore(connection, { maxAgeMs: 1e12, maxBytes: 1e9, onNotice: () => {}, now: () => now });
    const store = open();
    expect(store.billingPeriod("work").source).toBe("calendar-month");
    store.setBillingPeriod("work", known);
    expect(open().billingPeriod("work")).toEqual({ ...known, source: "cursor" });
    expect(store.billingPeriod("home").source).toBe("calendar-month");
    expect(store.billingPeriod(undefined).source).toBe("calendar-month");
    store.setBillingPeriod(undefined, known);
    expect(store.billingPeriod(undefined)).toEqual({ ...known, source: "cursor" });
    now = known.endMs;
    expect(store.billingPeriod("work").source).toBe("projected");
  });
});
