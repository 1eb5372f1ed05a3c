import { isJsonObject } from "../../../core/json/is-json-object.ts";
import type { JsonObject, JsonValue } from "../../../core/turn.ts";

const CHOICES = ["oneOf", "anyOf", "allOf"] as const;
const MAX_DEPTH = 64;

/**
 * Removes `oneOf`, `anyOf` and `allOf` from a schema: some of the backend's providers refuse such a request without a
 * reason. The result allows what any branch allows, and requires what all require. The client checks the arguments
 * anyway.
 */
export function flattenSchema(schema: JsonObject, depth = 0): JsonObject {
  if (depth > MAX_DEPTH) return {};
  const entries = Object.entries(schema).filter(([key]) => !CHOICES.some((choice) => choice === key));
  const own = Object.fromEntries(entries.map(([key, value]) => [key, flattenMember(key, value, depth + 1)]));
  return CHOICES.reduce((merged, choice) => {
    const branches = schema[choice];
    if (!Array.isArray(branches)) return merged;
    const flat = branches.filter(isJsonObject).map((branch) => flattenSchema(branch, depth + 1));
    return merge(merged, flat, choice === "allOf");
  }, own as JsonObject);
}

/** Members that hold schemas under arbitrary names, and members that hold no schema. */
const MAPS = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
const DATA = ["enum", "const", "default", "examples", "required"];

function flattenMember(key: string, value: JsonValue, depth: number): JsonValue {
  if (DATA.includes(key)) return value;
  if (MAPS.includes(key) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, flattenValue(inner, depth)]));
  }
  return flattenValue(value, depth);
}

function flattenValue(value: JsonValue, depth: number): JsonValue {
  if (Array.isArray(value)) return value.map((item) => flattenValue(item, depth));
  return isJsonObject(value) ? flattenSchema(value, depth) : value;
}

/** Merges branches into one schema. `isAll`: all branches apply, so the requirements of each are kept. */
function merge(base: JsonObject, branches: readonly JsonObject[], isAll: boolean): JsonObject {
  const [first] = branches;
  if (!first) return base;
  const properties = Object.assign({}, ...branches.map(propertiesOf), propertiesOf(base)) as JsonObject;
  const demands = branches.map((branch) => new Set(requiredOf(branch)));
  const [firstDemands = []] = demands;
  const demanded = isAll
    ? demands.flatMap((names) => [...names])
    : [...firstDemands].filter((name) => demands.every((names) => names.has(name)));
  const required = [...new Set([...requiredOf(base), ...demanded])];
  const types = new Set(branches.map((branch) => branch["type"]).filter((type) => type !== "null"));
  // If the types do not match, the first branch is used.
  const like = types.size === 1 || isAll ? Object.assign({}, ...branches) : first;
  const { properties: _, required: __, ...rest } = { ...(like as JsonObject), ...base };
  return {
    ...rest,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

const propertiesOf = (schema: JsonObject): JsonObject =>
  isJsonObject(schema["properties"]) ? schema["properties"] : {};

const requiredOf = ({ required }: JsonObject): string[] =>
  Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
