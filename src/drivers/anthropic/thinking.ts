import type { JsonObject, Message, Turn } from "../../core/turn.ts";
import type { AnthropicModel } from "./models.ts";

/** The fields for thinking and length. */
export interface ThinkingPlan {
  /** `thinking`, `output_config` and `max_tokens`. */
  readonly fields: JsonObject;
  readonly isOn: boolean;
  /** Whether the effort is as requested. */
  readonly takesEffort: boolean;
  /** Whether earlier thinking is sent. */
  readonly keepsThoughts: boolean;
}

/** Used if neither the client nor the upstream gives a limit. */
const DEFAULT_MAX_TOKENS = 8192;
const LEAST_BUDGET = 1024;

/** In tokens, for models that take a budget instead of an effort. */
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1024, low: 2048, medium: 8192, high: 24_576 };
const LARGEST_BUDGET = 49_152;

/** In ascending order. */
const EFFORTS = ["low", "medium", "high", "xhigh", "max"];

/** Returns the highest effort of the model that does not exceed the wanted one. */
function nearestEffort(wanted: string, { efforts }: AnthropicModel): string | undefined {
  const upTo = EFFORTS.slice(0, Math.max(0, EFFORTS.indexOf(wanted)) + 1);
  return upTo.findLast((effort) => efforts.includes(effort));
}

/**
 * Decides how the model is told to think: by itself (`adaptive`) or with a budget. Without an effort, an adaptive model
 * decides; a model with a budget does not think.
 */
export function planThinking(turn: Turn, effort: string | undefined, model: AnthropicModel | undefined): ThinkingPlan {
  const most = model?.maxTokens ?? Number.POSITIVE_INFINITY;
  const maxTokens = turn.maxOutputTokens === undefined ? model?.maxTokens : Math.min(turn.maxOutputTokens, most);
  const off: ThinkingPlan = {
    fields: { max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS },
    isOn: false,
    takesEffort: effort === "none",
    keepsThoughts: false,
  };
  if (effort === "none") return model?.canDisable ? withField(off, { thinking: { type: "disabled" } }) : off;
  if (model?.thinking === "adaptive") {
    const word = effort === undefined ? undefined : nearestEffort(effort, model);
    const config = word !== undefined && { output_config: { effort: word } };
    const fields = { ...off.fields, thinking: { type: "adaptive", display: "summarized" }, ...config };
    return { fields, isOn: true, takesEffort: word === effort, keepsThoughts: true };
  }
  // A compatible server may think unasked, and expects its thinking back.
  if (effort === undefined && model?.thinking === undefined) return { ...off, keepsThoughts: true };
  if (effort === undefined || model?.thinking === "none" || isMidway(turn.messages)) return off;
  const wanted = BUDGETS[effort] ?? LARGEST_BUDGET;
  const limit = maxTokens ?? DEFAULT_MAX_TOKENS + wanted;
  const budget = Math.min(wanted, limit - LEAST_BUDGET);
  if (budget < LEAST_BUDGET) return off;
  const fields = { max_tokens: limit, thinking: { type: "enabled", budget_tokens: budget } };
  return { fields, isOn: true, takesEffort: true, keepsThoughts: true };
}

const withField = (plan: ThinkingPlan, more: JsonObject): ThinkingPlan => ({
  ...plan,
  fields: { ...plan.fields, ...more },
});

/**
 * Returns whether the model is within a round of tool calls and its thinking is lost. The API refuses such a
 * conversation with a budget, so it continues without thinking.
 */
function isMidway(messages: readonly Message[]): boolean {
  const last = messages.findLast(({ role }) => role !== "tool");
  if (last?.role !== "assistant") return false;
  const [first] = last.content;
  return !(first?.type === "thinking" && first.signature !== undefined);
}
