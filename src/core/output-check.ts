import { boundedRegExp } from "./bounded-regexp.ts";
import { ExcursorError } from "./errors.ts";
import type { JsonObject, OutputFormat } from "./turn.ts";

export type OutputCheck = (text: string) => CheckedOutput;

export type CheckedOutput =
  | { readonly isValid: true; readonly json: string }
  | { readonly isValid: false; readonly problem: string };

/** How to tell whether a text is what the client asked for. Throws `invalid-request` if the schema cannot be used. */
export async function createOutputCheck(format: OutputFormat): Promise<OutputCheck> {
  const matches = format.type === "json-schema" ? await compile(format.schema, format.field) : mustBeObject;
  return (text) => {
    const found = findJson(text);
    if (!found) return { isValid: false, problem: "it is not JSON" };
    const problem = matches(found.value);
    return problem === undefined ? { isValid: true, json: found.json } : { isValid: false, problem };
  };
}

/** Says what does not match, or nothing. */
type Matcher = (value: unknown) => string | undefined;

const mustBeObject: Matcher = (value) =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? undefined : "it is not a JSON object";

const MAX_PROBLEMS = 10;

async function compile(schema: JsonObject, field: string): Promise<Matcher> {
  const { $schema, $id, ...rest } = schema;
  const options = {
    strict: false,
    allErrors: true,
    logger: false,
    validateFormats: false,
    validateSchema: false,
    code: { regExp: boundedRegExp },
  };
  try {
    // Loaded when needed: most of the time it is not, and it is slow to load.
    const { Ajv } = await import("ajv");
    const { Ajv2020 } = await import("ajv/dist/2020.js");
    const isOldDraft = typeof $schema === "string" && /draft-0\d/.test($schema);
    const ajv = isOldDraft ? new Ajv(options as object) : new Ajv2020(options as object);
    const validate = ajv.compile({ ...rest, ...(typeof $id === "string" && { $id }) });
    return (value) => {
      if (validate(value)) return undefined;
      return ajv.errorsText(validate.errors?.slice(0, MAX_PROBLEMS) ?? null, { dataVar: "it", separator: "; " });
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ExcursorError("invalid-request", `${field}: this JSON schema cannot be used: ${why}`, {
      code: "invalid_json_schema",
      field,
      cause,
    });
  }
}

/** The JSON in a text: all of it, or what stands in a code fence, or between the outermost brackets. */
function findJson(text: string): { readonly json: string; readonly value: unknown } | undefined {
  for (const candidate of [text, insideFence(text), insideBrackets(text)]) {
    const json = candidate.trim();
    if (json === "") continue;
    try {
      return { json, value: JSON.parse(json) };
    } catch {
      // Not this one.
    }
  }
  return undefined;
}

const FENCE = "```";

function insideFence(text: string): string {
  const opening = text.indexOf(FENCE);
  if (opening === -1) return "";
  const lineEnd = text.indexOf("\n", opening);
  return lineEnd === -1 ? "" : text.slice(lineEnd, Math.max(lineEnd, text.lastIndexOf(FENCE)));
}

function insideBrackets(text: string): string {
  const opening = text.search(/[[{]/);
  return opening === -1 ? "" : text.slice(opening, Math.max(text.lastIndexOf("}"), text.lastIndexOf("]")) + 1);
}
