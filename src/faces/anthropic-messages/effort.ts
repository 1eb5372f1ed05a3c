import type { CountRequest } from "./schema.ts";

/** Below these budgets, in tokens of thinking. */
const LOW_BUDGET = 4096;
const MEDIUM_BUDGET = 16_384;

/** How hard to think: in words where the client used them, else by what it lets the model spend. */
export function readEffort({ thinking, output_config }: CountRequest): string | undefined {
  if (thinking?.type === "disabled") return "none";
  const effort = output_config?.effort;
  if (effort) return effort;
  const budget = thinking?.type === "enabled" ? thinking.budget_tokens : undefined;
  if (budget === undefined || budget === null) return undefined;
  return budget < LOW_BUDGET ? "low" : budget < MEDIUM_BUDGET ? "medium" : "high";
}
