import { describe, expect, it } from "vitest";
import { type Limit, limitFault, parseLimit } from "../../src/core/limits/limit.ts";
import { LimitReached } from "../../src/core/limits/limit-reached.ts";
import { HeldClock } from "../../src/usage/limits/held-clock.ts";
import { type Demand, type Reservation, UsageLimits } from "../../src/usage/limits/usage-limits.ts";
import type { Spending } from "../../src/usage/store/spending.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.UTC(2026, 10, 16, 12);

/** Limits over a record that is a list. One token costs one millionth of a dollar. */
function setUp(...texts: readonly string[]) {
  const limits = texts.map((text) => parseLimit(text) ?? expect.fail(text));
  const rows: { readonly at: number; readonly tokens: number; readonly conversation: string }[] = [];
  const clock = { now: NOON, isPaused: false };
  const held = new HeldClock(() => clock.now);
  const sumOf = (isIn: (row: (typeof rows)[number]) => boolean): Spending => {
    const found = rows.filter(isIn);
    const tokens = found.reduce((sum, row) => sum + row.tokens, 0);
    return { requests: found.length, tokens, dollars: tokens };
  };
  const usage = new UsageLimits({
    limitsOf: (id) => (id === "key" ? limits : []),
    pausedName: () => (clock.isPaused ? "alice" : undefined),
    spent: (_, from, until) => sumOf(({ at }) => at >= from && at < until),
    spentInMinute: (_, from) => sumOf(({ at }) => at >= from && at < from + MINUTE),
    spentIn: (conversation) => sumOf((row) => row.conversation === conversation),
    usual: () => {
      const { tokens, requests } = sumOf(() => true);
      return requests === 0 ? undefined : { tokens: tokens / requests, dollars: tokens / requests };
    },
    costOf: (input, output, model) => (model === "unpriced" ? undefined : input + output),
    clock: held,
  });
  const demand: Demand = { model: "m", driver: "d", conversation: "c", inputTokens: 100 };
  // A process that is alone knows at once.
  const reserve = (over: Partial<Demand> = {}) =>
    usage.reserve("key", () => ({ ...demand, ...over })) as Reservation | undefined;
  const store = (tokens: number, conversation = "c") => rows.push({ at: held.timeOf(clock.now), tokens, conversation });
  return { usage, reserve, store, clock };
}

const amounts = (tokens: number) => ({ tokens, dollars: tokens });

const errorOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return error as LimitReached;
  }
  return undefined;
};

/** Returns how many of so many requests are admitted at once. */
const admitted = (count: number, reserve: () => unknown): number =>
  Array.from({ length: count }, () => errorOf(reserve)).filter((error) => error === undefined).length;

describe("limits", () => {
  const limit = (amount: number, unit: Limit["unit"], window: Limit["window"]) => ({ amount, unit, window });

  it.each([
    ["60 requests/minute", limit(60, "requests", "minute")],
    ["15000 tokens/minute", limit(15_000, "tokens", "minute")],
    ["500000 tokens/day", limit(500_000, "tokens", "day")],
    ["$2.50/day", limit(2_500_000, "dollars", "day")],
    ["2.50 dollars/day", limit(2_500_000, "dollars", "day")],
    ["$20/month", limit(20_000_000, "dollars", "month")],
    [" 1 tokens/total ", limit(1, "tokens", "total")],
    ["10tokens/conversation", limit(10, "tokens", "conversation")],
    ["$0.000001/conversation", limit(1, "dollars", "conversation")],
  ])("read %s", (text, read) => {
    expect([parseLimit(text), limitFault(text)]).toEqual([read, undefined]);
  });

  const BY_TOKENS = "tokens can be limited by minute, day, month, total, conversation, such as";
  const BY_DOLLARS = "dollars can be limited by day, month, total, conversation, such as";
  const UNITS = "only tokens, dollars and requests can be limited, such as";

  it.each([
    ["90000 tokens/hour", BY_TOKENS],
    ["9000 tokens/conversation/hour", BY_TOKENS],
    ["$5/hour", BY_DOLLARS],
    ["$5/minute", BY_DOLLARS],
    ["$20/period", BY_DOLLARS],
    ["$1/conversation/day", BY_DOLLARS],
    ["60 requests/day", "requests can be limited by minute, such as"],
    ["40 steps/conversation", UNITS],
    ["30 minutes/conversation", UNITS],
    ["5/day", "expected a limit such as"],
    ["much", "expected a limit such as"],
    ["", "expected a limit such as"],
    ["$0/day", "a limit must be more than 0"],
    ["0 tokens/day", "a limit must be more than 0"],
    ["1.5 tokens/day", "expected a whole number of tokens"],
    ["-1 tokens/day", "expected a limit such as"],
    ["9007199254740993 tokens/day", "expected a limit such as"],
    ["999999999999999 dollars/day", "expected a whole number of dollars"],
  ])("refuse %j with what can be written instead", (text, fault) => {
    expect([parseLimit(text), limitFault(text)]).toEqual([undefined, expect.stringContaining(fault)]);
  });

  it("are never passed by more than one reservation, however many ask at once", () => {
    const { reserve, store } = setUp("1000 tokens/day");
    let used = 0;
    for (let round = 0; round < 20; round++) {
      const open = Array.from({ length: 50 }, () => {
        try {
          return reserve();
        } catch {
          return undefined;
        }
      }).filter((reservation) => reservation !== undefined);
      // Each uses what it has reserved, and its record is stored before the reservation is released.
      for (const reservation of open) {
        store(100);
        used += 100;
        reservation.release(amounts(100));
      }
    }
    expect(used).toBeGreaterThanOrEqual(1000);
    expect(used).toBeLessThanOrEqual(1100);
  });

  it("are never passed by answers that grow together", () => {
    const { reserve } = setUp("1000 tokens/day");
    const open = new Map(Array.from({ length: 5 }, () => [reserve(), 100] as const));
    let used = 500;
    for (let output = 1; open.size > 0; output++) {
      for (const [reservation] of open) {
        used++;
        if (errorOf(() => reservation?.grow(100, output))) open.delete(reservation);
      }
    }
    expect(used).toBeGreaterThanOrEqual(1000);
    expect(used).toBeLessThanOrEqual(1005);
  });

  it("reserve what requests of the key usually use, where that is more than their input", () => {
    const { reserve, store } = setUp("1000 tokens/day");
    const first = reserve();
    store(200);
    first?.release(amounts(200));
    expect(admitted(50, reserve)).toBe(4);
  });

  it("reserve a tenth of the limit as long as nothing is known of the key", () => {
    expect(admitted(50, setUp("5000 tokens/day").reserve)).toBe(10);
    expect(admitted(50, setUp("$1/day", "$20/total").reserve)).toBe(10);
  });

  it("reserve the average of the record after a restart", () => {
    const { reserve, store } = setUp("1000 tokens/day");
    store(300);
    store(100);
    expect(admitted(50, reserve)).toBe(3);
  });

  it("refuse with the limit, what was used and when it resets", () => {
    const { reserve, store, clock } = setUp("1000 tokens/day");
    store(1200);
    expect(errorOf(reserve)).toMatchObject({
      kind: "quota-exhausted",
      message:
        "This key may use 1000 tokens in one day (UTC), and has used 1200 tokens. It resets at 2026-11-17T00:00:00.000Z.",
      retryAfterMs: 12 * HOUR,
      retryable: false,
      keepsRun: false,
    });
    clock.now = NOON + 12 * HOUR - 1;
    expect(errorOf(reserve)?.kind).toBe("quota-exhausted");
    clock.now++;
    expect(reserve()).toBeDefined();
  });

  it.each([
    [Date.UTC(2026, 10, 1), "2026-12-01T00:00:00.000Z"],
    [Date.UTC(2026, 11, 31, 23, 59, 59, 999), "2027-01-01T00:00:00.000Z"],
    [Date.UTC(2028, 1, 29, 12), "2028-03-01T00:00:00.000Z"],
  ])("of a month are those of the calendar in UTC: %d ends at %s", (now, end) => {
    const { reserve, store, clock } = setUp("1000 tokens/month");
    clock.now = now;
    store(1000);
    expect(errorOf(reserve)?.message).toContain(`in one month (UTC), and has used 1000 tokens. It resets at ${end}.`);
    clock.now = Date.parse(end);
    expect(reserve()).toBeDefined();
  });

  it("of a minute refuse requests until it is over, and keep the run of a follow-up", () => {
    const { reserve, store, clock } = setUp("1000 tokens/minute", "5000 tokens/day");
    clock.now = NOON + 50_000;
    clock.isPaused = true;
    const first = reserve();
    store(1000);
    first?.release(amounts(1000));
    const refused = errorOf(reserve);
    expect(refused).toMatchObject({
      kind: "rate-limited",
      code: "tokens_per_minute",
      message: "This key may use 1000 tokens in one minute, and has used 1000 tokens. Wait until the minute is over.",
      retryAfterMs: 10_000,
    });
    expect(refused).not.toBeInstanceOf(LimitReached);
    clock.now = NOON + MINUTE;
    expect(reserve()).toBeDefined();
  });

  it("of a minute end no answer, count it for the minute in which it began, and hold many requests at once", () => {
    const { reserve, clock } = setUp("1000 tokens/minute");
    const long = reserve();
    expect(() => long?.grow(100, 5000)).not.toThrow();
    expect(errorOf(reserve)).toMatchObject({ code: "tokens_per_minute" });
    clock.now += MINUTE;
    expect(() => long?.grow(100, 6000)).not.toThrow();
    expect(admitted(50, reserve)).toBe(10);
  });

  it("say how a key that pauses goes on", () => {
    const { reserve, store, clock } = setUp("10 tokens/total");
    clock.isPaused = true;
    store(10);
    expect(errorOf(reserve)).toMatchObject({
      keepsRun: true,
      hint: expect.stringContaining("excursor limits lift alice"),
    });
  });

  it("end an answer that reaches them, and count what others under way have used", () => {
    const { reserve } = setUp("$0.001/total");
    const [first, second] = [reserve(), reserve()];
    expect(() => first?.grow(100, 400)).not.toThrow();
    expect(errorOf(() => second?.grow(100, 400))).toMatchObject({
      kind: "quota-exhausted",
      message: expect.stringContaining("$0.0010 in total"),
    });
  });

  it("let one answer use all that is left", () => {
    const { reserve } = setUp("1000 tokens/day", "100000 tokens/total");
    const only = reserve();
    for (let output = 1; output <= 900; output++) expect(errorOf(() => only?.grow(100, output))).toBeUndefined();
    expect(errorOf(() => only?.grow(100, 901))?.message).toContain("1000 tokens in one day");
  });

  it("hold for each conversation by itself", () => {
    const { reserve, store, clock } = setUp("300 tokens/conversation");
    store(300, "long");
    clock.now += 1000 * HOUR;
    expect(errorOf(() => reserve({ conversation: "long" }))).toMatchObject({
      message: expect.stringContaining("300 tokens in a conversation, and has used 300 tokens. It does not reset."),
      hint: expect.stringContaining("Begin another conversation"),
    });
    expect(reserve({ conversation: "new" })).toBeDefined();
  });

  it("in dollars refuse a model without a price", () => {
    const { reserve } = setUp("$5/day");
    expect(errorOf(() => reserve({ model: "unpriced" }))?.message).toContain("has no price");
    expect(setUp("5 tokens/day").reserve({ model: "unpriced" })).toBeDefined();
  });

  it("stay used up when the clock is set back by hours, and not when it was wrong by a year (REL-39)", () => {
    const { reserve, store, clock } = setUp("1000 tokens/day");
    store(1000);
    expect(errorOf(reserve)?.kind).toBe("quota-exhausted");
    clock.now -= 13 * HOUR;
    expect(errorOf(reserve)?.kind).toBe("quota-exhausted");
    clock.now -= 365 * 24 * HOUR;
    expect(reserve()).toBeDefined();
  });

  it("count what is used after the clock is set back into a day that is used up (REL-39)", () => {
    const { reserve, store, clock } = setUp("1000 tokens/day");
    store(1000);
    clock.now += 13 * HOUR;
    reserve()?.release(amounts(0));
    clock.now -= 2 * HOUR;
    reserve()?.release(amounts(0));
    store(1000);
    expect(errorOf(reserve)?.kind).toBe("quota-exhausted");
  });

  it("hold nobody without them, and read nothing of its request", () => {
    const { usage } = setUp("1 tokens/day");
    expect(usage.reserve("other", () => expect.fail("was read"))).toBeUndefined();
  });
});
