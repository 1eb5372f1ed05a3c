import { describe, expect, it } from "vitest";
import { parseLimit } from "../../src/usage/limit.ts";
import { type Demand, UsageLimits } from "../../src/usage/usage-limits.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 10, 16, 12);

/** Limits over a record that is a list. One token costs one millionth of a dollar. */
function setUp(...texts: readonly string[]) {
  const limits = texts.map((text) => parseLimit(text) ?? expect.fail(text));
  const rows: { readonly at: number; readonly tokens: number; readonly conversation: string }[] = [];
  const clock = { now: NOON };
  const sumOf = (isIn: (row: (typeof rows)[number]) => boolean) => {
    const tokens = rows.filter(isIn).reduce((sum, row) => sum + row.tokens, 0);
    return { requests: rows.length, tokens, micros: tokens };
  };
  const held = new UsageLimits({
    limitsOf: (id) => (id === "key" ? limits : []),
    spent: (_, from, until) => sumOf(({ at }) => at >= from && at < until),
    spentIn: (conversation) => sumOf((row) => row.conversation === conversation),
    costOf: (input, output, model) => (model === "unpriced" ? undefined : input + output),
    now: () => clock.now,
  });
  const demand: Demand = { principalId: "key", model: "m", driver: "d", conversation: "c", inputTokens: 100 };
  const reserve = (over: Partial<Demand> = {}) => held.reserve({ ...demand, ...over });
  const store = (tokens: number, conversation = "c") => rows.push({ at: clock.now, tokens, conversation });
  return { reserve, store, clock, rows };
}

const errorOf = (work: () => unknown) => {
  try {
    work();
  } catch (error) {
    return error as { kind: string; message: string; retryAfterMs?: number; retryable: boolean };
  }
  return undefined;
};

describe("limits", () => {
  it.each([
    ["500000 tokens/day", { amount: 500_000, unit: "tokens", per: "day" }],
    ["$2.50/hour", { amount: 2_500_000, unit: "dollars", per: "hour" }],
    ["10tokens/conversation", { amount: 10, unit: "tokens", per: "conversation" }],
    ["$0/day", undefined],
    ["5/day", undefined],
    ["$5/week", undefined],
  ])("read %s", (text, limit) => {
    expect(parseLimit(text)).toEqual(limit);
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
        reservation.release();
      }
    }
    expect(used).toBeGreaterThanOrEqual(1000);
    expect(used).toBeLessThanOrEqual(1100);
  });

  it("refuse with the limit, what was used and when it resets", () => {
    const { reserve, store, clock } = setUp("1000 tokens/hour");
    clock.now = NOON + 10 * 60_000;
    store(1200);
    expect(errorOf(() => reserve())).toMatchObject({
      kind: "quota-exhausted",
      message:
        "This key may use 1000 tokens in one hour (UTC), and has used 1200 tokens. It resets at 2026-11-16T13:00:00.000Z.",
      retryAfterMs: 50 * 60_000,
      retryable: false,
    });
    clock.now = NOON + HOUR;
    expect(reserve()).toBeDefined();
  });

  it("end an answer that reaches them, and count what others under way have used", () => {
    const { reserve } = setUp("$0.001/total");
    const [first, second] = [reserve(), reserve()];
    expect(() => first?.grow(100, 400)).not.toThrow();
    expect(errorOf(() => second?.grow(100, 400))).toMatchObject({
      kind: "quota-exhausted",
      message: expect.stringContaining("$0.00 in total"),
    });
  });

  it("hold for each conversation by itself", () => {
    const { reserve, store } = setUp("300 tokens/conversation");
    store(300, "long");
    expect(errorOf(() => reserve({ conversation: "long" }))?.message).toContain("in a conversation");
    expect(reserve({ conversation: "new" })).toBeDefined();
  });

  it("in dollars refuse a model without a price", () => {
    const { reserve } = setUp("$5/day");
    expect(errorOf(() => reserve({ model: "unpriced" }))?.message).toContain("has no price");
    expect(setUp("5 tokens/day").reserve({ model: "unpriced" })).toBeDefined();
  });

  it("stay used up when the clock is set back by hours, and not when it was wrong by a year", () => {
    const { reserve, store, clock } = setUp("1000 tokens/day");
    store(1000);
    expect(errorOf(() => reserve())?.kind).toBe("quota-exhausted");
    clock.now -= 13 * HOUR;
    expect(errorOf(() => reserve())?.kind).toBe("quota-exhausted");
    clock.now -= 365 * 24 * HOUR;
    expect(reserve()).toBeDefined();
  });

  it("hold nobody without them", () => {
    expect(setUp("1 tokens/day").reserve({ principalId: "other" })).toBeUndefined();
  });
});
