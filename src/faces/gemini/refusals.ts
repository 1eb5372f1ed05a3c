import { isJsonObject } from "../../core/json/is-json-object.ts";
import { type Body, refuseFields, type UnsupportedFields, valueIn } from "../shared/unsupported-fields.ts";

const CONFIG = "generationConfig.";

const REFUSED: UnsupportedFields = {
  cachedContent: { isHarmless: (value) => value === "", because: "not supported: the gateway stores no content" },
  [`${CONFIG}candidateCount`]: {
    isHarmless: (value) => value === 1,
    because: "expected 1: each request gets one answer",
  },
  [`${CONFIG}responseLogprobs`]: {
    isHarmless: (value) => value === false,
    because: "expected false: log probabilities are not available",
  },
  [`${CONFIG}responseModalities`]: {
    isHarmless: (value) => Array.isArray(value) && value.every((item) => /^text$/i.test(String(item))),
    because: 'expected ["TEXT"]: answers are text only',
  },
};

/** Fields that would change the answer but have no effect here. They are accepted and reported as ignored. */
const IGNORED = ["safetySettings", `${CONFIG}mediaResolution`, `${CONFIG}speechConfig`, `${CONFIG}imageConfig`];

/** Google's own tools, which only Google can run. */
const DECLARATIONS = "functionDeclarations";

export const refuseUnsupported = (body: Body): void => refuseFields(flat(body), REFUSED);

export function ignoredFields(body: Body): readonly string[] {
  const fields = flat(body);
  const tools = Array.isArray(body["tools"]) ? body["tools"] : [];
  return [
    ...IGNORED.filter((field) => valueIn(fields, field) !== undefined),
    ...tools.flatMap((tool: unknown, index) =>
      Object.keys(isJsonObject(tool) ? tool : {}).flatMap((name) =>
        name === DECLARATIONS ? [] : [`tools[${index}].${name}`],
      ),
    ),
  ];
}

/** Returns the fields with those of `generationConfig`, by their full names. */
function flat(body: Body): Body {
  const { generationConfig } = body;
  const inner = isJsonObject(generationConfig) ? Object.entries(generationConfig) : [];
  return { ...body, ...Object.fromEntries(inner.map(([name, value]) => [CONFIG + name, value])) };
}
