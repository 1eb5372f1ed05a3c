import { type Body, refuseFields, type UnsupportedFields, valueIn } from "../shared/unsupported-fields.ts";

const REFUSED: UnsupportedFields = {
  n: { isHarmless: (value) => value === 1, because: "expected 1: each request gets one answer" },
  logprobs: { isHarmless: (value) => value === false, because: "expected false: log probabilities are not available" },
  top_logprobs: { isHarmless: (value) => value === 0, because: "expected 0: log probabilities are not available" },
  modalities: {
    isHarmless: (value) => Array.isArray(value) && value.every((item) => item === "text"),
    because: 'expected ["text"]: answers are text only',
  },
  audio: { isHarmless: () => false, because: "not supported: answers are text only" },
  functions: { isHarmless: isEmptyArray, because: "not supported: use `tools`" },
  function_call: {
    isHarmless: (value) => value === "none" || value === "auto",
    because: "not supported: use `tool_choice`",
  },
};

/** Fields that would change the answer but have no effect here. They are accepted and reported as ignored. */
const IGNORED = ["logit_bias", "prediction", "verbosity", "web_search_options"] as const;

export const refuseUnsupported = (body: Body): void => refuseFields(body, REFUSED);

export function ignoredFields(body: Body): readonly string[] {
  return IGNORED.filter((field) => valueIn(body, field) !== undefined);
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
