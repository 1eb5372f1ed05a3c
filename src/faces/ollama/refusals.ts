import { type Body, refuseFields, type UnsupportedFields, valueIn } from "../shared/unsupported-fields.ts";

const isEmpty = (value: unknown): boolean => value === "" || value === false || (Array.isArray(value) && !value.length);

const REFUSED: UnsupportedFields = {
  suffix: { isHarmless: isEmpty, because: "not supported: no upstream completes text before a suffix" },
  context: { isHarmless: isEmpty, because: "not supported: use /api/chat, and send the conversation" },
};

/** Fields that would change the answer but have no effect here. They are accepted and reported as ignored. */
const IGNORED = ["template", "raw", "logprobs", "top_logprobs"] as const;

export const refuseUnsupported = (body: Body): void => refuseFields(body, REFUSED);

export const ignoredFields = (body: Body): readonly string[] =>
  IGNORED.filter((field) => {
    const value = valueIn(body, field);
    return value !== undefined && !isEmpty(value);
  });
