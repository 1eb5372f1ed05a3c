import { isJsonObject } from "../../../core/json/is-json-object.ts";

/** Fields whose content is the user's or a schema, and not the dialect's. */
const OPAQUE = new Set([
  "args",
  "response",
  "parameters",
  "parametersJsonSchema",
  "responseSchema",
  "responseJsonSchema",
]);

/**
 * Returns a body with its field names in camel case. Google accepts snake case as well, and its documentation uses both.
 * The body's depth is limited where it is read.
 */
export function inCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const name = key.includes("_")
        ? key.replace(/(?<=[a-z0-9])_([a-z0-9])/g, (_, letter) => letter.toUpperCase())
        : key;
      return [name, OPAQUE.has(name) ? inner : inCamelCase(inner)];
    }),
  );
}
