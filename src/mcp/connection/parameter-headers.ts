import { isJsonObject } from "../../core/json/is-json-object.ts";
import type { JsonObject } from "../../core/turn.ts";

const KEY = "x-mcp-header";
/** Valid header names (RFC 9110 §5.1). */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES = ["string", "integer", "boolean"];

/**
 * Validates parameters that a tool wants as headers, which the newer version of the protocol allows. A tool with an
 * invalid declaration must not be called. Returns what is wrong.
 */
export function headerFault(schema: JsonObject): string | undefined {
  const names = new Set<string>();
  const visit = (node: unknown, path: string, isParameter: boolean): string | undefined => {
    if (typeof node !== "object" || node === null) return undefined;
    if (Array.isArray(node)) return first(node.map((inner, index) => () => visit(inner, `${path}[${index}]`, false)));
    const { properties, ...rest } = node as JsonObject;
    const declared = rest[KEY];
    if (declared !== undefined) {
      if (!isParameter) return `${path}: only a parameter can be a header`;
      if (typeof declared !== "string" || !TOKEN.test(declared)) return `${path}: expected the name of a header`;
      if (!TYPES.some((type) => type === rest["type"])) return `${path}: expected a ${TYPES.join(", ")}`;
      if (names.has(declared.toLowerCase())) return `${path}: the header is used twice`;
      names.add(declared.toLowerCase());
    }
    const isChain = isParameter || path === "";
    return first([
      ...Object.entries(isJsonObject(properties) ? properties : {}).map(
        ([name, inner]) =>
          () =>
            visit(inner, `${path}.${name}`, isChain),
      ),
      ...Object.entries(rest)
        .filter(([keyword]) => !VALUES.includes(keyword))
        .map(
          ([keyword, inner]) =>
            () =>
              visit(inner, `${path}.${keyword}`, false),
        ),
    ]);
  };
  return visit(schema, "", false);
}

/** These hold values, not schemas. */
const VALUES = ["const", "enum", "default", "examples", "required", KEY];

function first(visits: readonly (() => string | undefined)[]): string | undefined {
  for (const visit of visits) {
    const fault = visit();
    if (fault !== undefined) return fault;
  }
  return undefined;
}
