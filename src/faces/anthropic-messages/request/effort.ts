import type { CountRequest } from "../schema.ts";

/** Upper bounds of thinking budgets, in tokens. */
const LOW_BUDGET = 4096;
const MEDIUM_BUDGET = 16_384;

/** Returns the effort: the client's own word, else one derived from its thinking budget. */
export function readEffort({ thinking, output_config }: CountRequest): string | undefined {
  if (thinking?.type === "disabled") return "none";
  const effort = output_config?.effort;
  if (effort) return effort;
  const budget = thinking?.type === "enabled" ? thinking.budget_tokens : undefined;
  if (budget === undefined || budget === null) return undefined;
  return budget < LOW_BUDGET ? "low" : budget < MEDIUM_BUDGET ? "medium" : "high";
}
