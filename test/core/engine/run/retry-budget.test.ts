import { describe, expect, it } from "vitest";
import { RetryBudget } from "../../../../src/core/engine/run/retry-budget.ts";

const spent = (budget: RetryBudget, attempts: number): number =>
  Array.from({ length: attempts }, () => budget.spend()).filter(Boolean).length;

describe("the retry budget", () => {
  it("grants a few from the start, and then one for every ten requests", () => {
    const budget = new RetryBudget();
    expect(spent(budget, 100)).toBe(10);
    for (let request = 0; request < 35; request++) budget.earn();
    expect(spent(budget, 100)).toBe(3);
  });

  it("counts what it has granted and refused", () => {
    const budget = new RetryBudget();
    spent(budget, 12);
    budget.earn();
    expect(budget.stats()).toEqual({ credit: 0.1, granted: 10, refused: 2 });
  });

  it("is not saved up without end", () => {
    const budget = new RetryBudget();
    for (let request = 0; request < 10_000; request++) budget.earn();
    expect(spent(budget, 100)).toBe(10);
  });
});
