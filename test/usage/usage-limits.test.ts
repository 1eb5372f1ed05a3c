import { describe, expect, it } from "vitest";
import { type Limit, parseLimit } from "../../src/core/limits/limit.ts";
import type { LimitReached } from "../../src/core/limits/limit-reached.ts";
import { billingPeriodAt } from "../../src/usage/limits/billing-period.ts";
import { HeldClock } from "../../src/usage/limits/held-clock.ts";
import { type Demand, type Reservation, UsageLimits } from "../../src/usage/limits/usage-limits.ts";
import type { Spending } from "../../src/usage/store/spending.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 10, 16, 12);

/** Limits over a record that is a list. One token costs one millionth of a dollar. */
function setUp(...texts: readonly string[]) {
  const limits = texts.map((text) => parseLimit(text) ?? expect.fail(text));
  const rows: { readonly at: number; readonly tokens: number; readonly conversation: string; readonly time: number }[] =
    [];
  const clock = { now: NOON, ticks: 0, isPaused: false };
  const held = new HeldClock(() => clock.now);
  const sumOf = (isIn: (row: (typeof rows)[number]) => boolean): Spending => {
    const found = rows.filter(isIn);
    const tokens = found.reduce((sum, row) => sum + row.tokens, 0);
    const time = found.reduce((sum, row) => sum + row.time, 0);
    return { requests: found.length, steps: found.length, tokens, dollars: tokens, time };
  };
  const usage = new UsageLimits({
    limitsOf: (id) => (id === "key" ? limits : []),
    pausedName: () => (clock.isPaused ? "alice" : undefined),
    spent: (_, from, until) => sumOf(({ at }) => at >= from && at < until),
    spentIn: (conversation, _, from, until) =>
      sumOf((row) => row.conversation === conversation && row.at >= from && row.at < until),
    usual: () => {
      const { tokens, steps } = sumOf(() => true);
      return steps === 0 ? undefined : { tokens: tokens / steps, dollars: tokens / steps };
    },
    costOf: (input, output, model) => (model === "unpriced" ? undefined : input + output),
    periodOf: () => billingPeriodAt(clock.now),
    clock: held,
    ticks: () => clock.ticks,
  });
  const demand: Demand = { model: "m", driver: "d", conversation: "c", inputTokens: 100 };
  // A process that is alone knows at once.
  const reserve = (over: Partial<Demand> = {}) =>
    usage.reserve("key", () => ({ ...demand, ...over })) as Reservation | undefined;
  const store = (tokens: number, conversation = "c", time = 0) =>
    rows.push({ at: held.timeOf(clock.now), tokens, conversation, time });
  return { usage, reserve, store, clock };
}

const amounts = (tokens: number) => ({ tokens, dollars: tokens, steps: 1, time: 0 });

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
  const limit = (amount: number, unit: Limit["unit"], window: Limit["window"], isPerConversation = false) => ({
    amount,
    unit,
    window,
    isPerConversation,
  });

  it.each([
    ["500000 tokens/day", limit(500_000, "tokens", "day")],
    ["$2.50/hour", limit(2_500_000, "dollars", "hour")],
    ["$20/period", limit(20_000_000, "dollars", "period")],
    ["10tokens/conversation", limit(10, "tokens", "total", true)],
    ["$1/conversation/day", limit(1_000_000, "dollars", "day", true)],
    ["60 requests/minute", limit(60, "requests", "minute")],
    ["40 steps/conversation", limit(40, "steps", "total", true)],
    ["30 minutes/conversation", limit(1_800_000, "time", "total", true)],
    ["$0/day", undefined],
    ["0 steps/conversation", undefined],
    ["40 steps/day", undefined],
    ["5/day", undefined],
    ["$5/week", undefined],
  ])("read %s", (text, read) => {
    expect(parseLimit(text)).toEqual(read);
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
    const { reserve, store, clock } = setUp("1000 tokens/hour");
    clock.now = NOON + 10 * 60_000;
    store(1200);
    expect(errorOf(reserve)).toMatchObject({
      kind: "quota-exhausted",
      message:
        "This key may use 1000 tokens in one hour (UTC), and has used 1200 tokens. It resets at 2026-11-16T13:00:00.000Z.",
      retryAfterMs: 50 * 60_000,
      retryable: false,
      keepsRun: false,
    });
    clock.now = NOON + HOUR;
    expect(reserve()).toBeDefined();
  });

  it("of a billing period reset with it", () => {
    const { reserve, store, clock } = setUp("1000 tokens/period");
    store(1000);
    expect(errorOf(reserve)?.message).toContain(
      "one billing period, and has used 1000 tokens. It resets at 2026-12-01",
    );
    clock.now = Date.UTC(2026, 11, 1);
    expect(reserve()).toBeDefined();
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
    const { reserve, store, clock } = setUp("300 tokens/conversation", "200 tokens/conversation/hour");
    store(200, "long");
    expect(errorOf(() => reserve({ conversation: "long" }))?.message).toContain(
      "200 tokens in a conversation in one hour",
    );
    expect(reserve({ conversation: "new" })).toBeDefined();
    clock.now += HOUR;
    expect(reserve({ conversation: "long" })).toBeDefined();
    store(100, "long");
    expect(errorOf(() => reserve({ conversation: "long" }))?.message).toContain(
      "300 tokens in a conversation, and has used 300",
    );
  });

  it("of steps and of time hold for a conversation, also while its answer runs", () => {
    const { reserve, store, clock } = setUp("3 steps/conversation", "10 minutes/conversation");
    store(1, "c", 4 * 60_000);
    const second = reserve();
    clock.ticks += 5 * 60_000;
    expect(() => second?.grow(1, 1)).not.toThrow();
    clock.ticks += 60_000;
    expect(errorOf(() => second?.grow(1, 2))?.message).toContain(
      "10 minutes in a conversation, and has used 10 minutes",
    );
    store(1, "other");
    store(1, "other");
    expect(reserve({ conversation: "other" })).toBeDefined();
    expect(errorOf(() => reserve({ conversation: "other" }))?.message).toContain("3 steps in a conversation");
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
