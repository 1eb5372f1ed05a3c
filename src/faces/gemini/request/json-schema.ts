import { isJsonObject } from "../../../core/json/is-json-object.ts";
import type { JsonObject, JsonValue } from "../../../core/turn.ts";

const COUNTS = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);

/**
 * Converts Google's form of a schema to JSON Schema: types in lower case, `null` as a type, counts as numbers. What is
 * already JSON Schema stays as it is. The depth is limited where the body is read.
 */
export function toJsonSchema(schema: JsonObject): JsonObject {
  const isNullable = schema["nullable"] === true;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) => {
      const converted = convert(name, value, isNullable);
      return converted === undefined ? [] : [[name, converted]];
    }),
  );
}

/** Returns undefined for what JSON Schema does not have. */
function convert(name: string, value: JsonValue, isNullable: boolean): JsonValue | undefined {
  if (name === "nullable" || name === "propertyOrdering" || name === "example") return undefined;
  if (name === "format" && value === "enum") return undefined;
  if (name === "type") {
    const type = Array.isArray(value) ? value.map(lowerCase) : lowerCase(value);
    if (type === "type_unspecified") return undefined;
    return isNullable ? [type, "null"].flat() : type;
  }
  if (name === "enum" && isNullable && Array.isArray(value)) return [...value, null];
  if (COUNTS.has(name) && typeof value === "string" && /^\d{1,15}$/.test(value)) return Number(value);
  if (name === "properties" && isJsonObject(value)) return mapValues(value);
  if (name === "items" || name === "additionalProperties") return inner(value);
  return /^(?:any|one|all)Of$/.test(name) && Array.isArray(value) ? value.map(inner) : value;
}

const inner = (value: JsonValue): JsonValue => (isJsonObject(value) ? toJsonSchema(value) : value);

const mapValues = (values: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, inner(value)]));

const lowerCase = (value: JsonValue): JsonValue => (typeof value === "string" ? value.toLowerCase() : value);
