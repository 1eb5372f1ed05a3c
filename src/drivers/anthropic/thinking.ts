import type { JsonObject, Message, Turn } from "../../core/turn.ts";
import type { AnthropicModel } from "./models.ts";

/** What a request says of thinking and of length. */
export interface ThinkingPlan {
  /** `thinking`, `output_config` and `max_tokens`. */
  readonly fields: JsonObject;
  readonly isOn: boolean;
  /** It thinks as hard as was asked for. */
  readonly takesEffort: boolean;
  /** Whether what was thought before is told. */
  readonly keepsThoughts: boolean;
}

/** Where neither the client nor the upstream says how long an answer may be. */
const DEFAULT_MAX_TOKENS = 8192;
const LEAST_BUDGET = 1024;

/** In tokens; a model without such words is given a budget. */
const BUDGETS: Readonly<Record<string, number>> = { minimal: 1024, low: 2048, medium: 8192, high: 24_576 };
const LARGEST_BUDGET = 49_152;

/** The efforts of this API, from the least. */
const EFFORTS = ["low", "medium", "high", "xhigh", "max"];

/** The nearest that the model has, the lesser of two. */
function nearestEffort(wanted: string, { efforts }: AnthropicModel): string | undefined {
  const upTo = EFFORTS.slice(0, Math.max(0, EFFORTS.indexOf(wanted)) + 1);
  return upTo.findLast((effort) => efforts.includes(effort));
}

/**
 * How hard the model shall think, in the form that this model takes: it decides itself (`adaptive`), or has a budget. A
 * client that says nothing leaves it to a model that can decide; one with a budget thinks only when asked to.
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
  // A compatible server may think unasked, and wants it back like any other.
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
 * Whether the model is at work with tools and its thinking is lost. With a budget such a conversation is refused: it
 * has to be finished without.
 */
function isMidway(messages: readonly Message[]): boolean {
  const last = messages.findLast(({ role }) => role !== "tool");
  if (last?.role !== "assistant") return false;
  const [first] = last.content;
  return !(first?.type === "thinking" && first.signature !== undefined);
}
