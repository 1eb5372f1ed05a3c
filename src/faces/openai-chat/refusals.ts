import { ExcursorError } from "../../core/errors.ts";

/**
 * Fields that no upstream supports, with the values that change nothing. Other values are refused: ignoring them would
 * mislead the client.
 */
const REFUSED = Object.entries<{ isHarmless: (value: unknown) => boolean; because: string }>({
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
});

/** Fields that would change the answer but have no effect here. They are accepted and reported as ignored. */
const IGNORED = ["logit_bias", "prediction", "verbosity", "web_search_options"] as const;

type Body = Readonly<Record<string, unknown>>;

export function refuseUnsupported(body: Body): void {
  for (const [field, { isHarmless, because }] of REFUSED) {
    const value = valueIn(body, field);
    if (value === undefined || isHarmless(value)) continue;
    throw new ExcursorError("invalid-request", `${field}: ${because}.`, { field, code: "unsupported_parameter" });
  }
}

export function ignoredFields(body: Body): readonly string[] {
  return IGNORED.filter((field) => valueIn(body, field) !== undefined);
}

function valueIn(body: Body, field: string): unknown {
  return Object.hasOwn(body, field) ? (body[field] ?? undefined) : undefined;
}

function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
