/** Upper bounds of thinking budgets, in tokens. */
const LOW_BUDGET = 4096;
const MEDIUM_BUDGET = 16_384;

/** Returns the effort for a thinking budget, in tokens. */
export const effortOfBudget = (tokens: number): string =>
  tokens < LOW_BUDGET ? "low" : tokens < MEDIUM_BUDGET ? "medium" : "high";
