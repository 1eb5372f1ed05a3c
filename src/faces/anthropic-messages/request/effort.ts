import { effortOfBudget } from "../../shared/effort-of-budget.ts";
import type { CountRequest } from "../schema.ts";

/** Returns the effort: the client's own word, else one derived from its thinking budget. */
export function readEffort({ thinking, output_config }: CountRequest): string | undefined {
  if (thinking?.type === "disabled") return "none";
  const effort = output_config?.effort;
  if (effort) return effort;
  const budget = thinking?.type === "enabled" ? thinking.budget_tokens : undefined;
  return budget === undefined || budget === null ? undefined : effortOfBudget(budget);
}
