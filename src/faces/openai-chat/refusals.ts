import { type Body, refuseFields, type UnsupportedFields, valueIn } from "../shared/unsupported-fields.ts";

const REFUSED: UnsupportedFields = {
  n: { isHarmless: (value) => value === 1, because: "expected 1: there is one answer to a request" },
  logprobs: { isHarmless: (value) => value === false, because: "expected false: log probabilities are not known" },
  top_logprobs: { isHarmless: (value) => value === 0, because: "expected 0: log probabilities are not known" },
  modalities: {
    isHarmless: (value) => Array.isArray(value) && value.every((item) => item === "text"),
    because: 'expected ["text"]: answers are text',
  },
  audio: { isHarmless: () => false, because: "not supported: answers are text" },
  functions: { isHarmless: isEmptyArray, because: "not supported: this is the old form of `tools`" },
  function_call: {
    isHarmless: (value) => value === "none" || value === "auto",
    because: "not supported: this is the old form of `tool_choice`",
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
