import { type Body, refuseFields, type UnsupportedFields, valueIn } from "../shared/unsupported-fields.ts";

const REFUSED: UnsupportedFields = {
  background: {
    isHarmless: (value) => value === false,
    because: "expected false: background answers are not supported",
  },
  conversation: { isHarmless: () => false, because: "not supported: use `previous_response_id`" },
  prompt: { isHarmless: () => false, because: "not supported: the gateway has no stored prompts" },
  top_logprobs: { isHarmless: (value) => value === 0, because: "expected 0: log probabilities are not available" },
};

/** Fields that would change the answer but have no effect here. They are accepted and reported as ignored. */
const IGNORED = ["max_tool_calls", "moderation", "context_management"] as const;

/** Fields that are ignored unless they have their default value. */
const IS_WISH: Readonly<Record<string, (value: unknown) => boolean>> = {
  truncation: (value) => value !== "disabled" && value !== undefined,
};

const HONOURED = "reasoning.encrypted_content";

export const refuseUnsupported = (body: Body): void => refuseFields(body, REFUSED);

export interface LeftOut {
  /** Types of tools and items. */
  readonly tools: readonly string[];
  readonly items: readonly string[];
}

export function ignoredFields(body: Body, leftOut: LeftOut): readonly string[] {
  const text = valueIn(body, "text") as Body | undefined;
  const reasoning = valueIn(body, "reasoning") as Body | undefined;
  const tools = (valueIn(body, "tools") ?? []) as readonly Body[];
  const include = (valueIn(body, "include") ?? []) as readonly string[];
  return [
    ...IGNORED.filter((field) => valueIn(body, field) !== undefined),
    ...Object.keys(IS_WISH).filter((field) => IS_WISH[field]?.(valueIn(body, field))),
    ...(text && valueIn(text, "verbosity") !== undefined ? ["text.verbosity"] : []),
    ...(((reasoning && valueIn(reasoning, "summary")) ?? "auto") === "auto" ? [] : ["reasoning.summary"]),
    ...(tools.some(({ strict }) => strict === true) ? ["tools.strict"] : []),
    ...include.filter((name) => name !== HONOURED).map((name) => `include.${name.slice(0, 64)}`),
    ...leftOut.items.map((type) => `input.${type}`),
    ...leftOut.tools.map((type) => `tools.${type.slice(0, 64)}`),
  ];
}

export const includesReasoning = (include: readonly string[] | null | undefined): boolean =>
  include?.includes(HONOURED) ?? false;
