import { isJsonObject } from "../../../core/json/is-json-object.ts";
import type { JsonObject, JsonValue } from "../../../core/turn.ts";

const COUNTS = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);

/**
 * Converts Google's form of a schema to JSON Schema: types in lower case, `null` as a type, counts as numbers. What is
 * already JSON Schema stays as it is. The depth is limited where the body is read.
 */
export function toJsonSchema(schema: JsonObject): JsonObject {
  const converted: Record<string, JsonValue> = {};
  const isNullable = schema["nullable"] === true;
  for (const [name, value] of Object.entries(schema)) {
    if (name === "nullable" || name === "propertyOrdering" || name === "example") continue;
    if (name === "type") {
      const type = Array.isArray(value) ? value.map(lowerCase) : lowerCase(value);
      if (type !== "type_unspecified") converted[name] = isNullable ? [type, "null"].flat() : type;
    } else if (name === "format" && value === "enum") continue;
    else if (name === "enum" && isNullable && Array.isArray(value)) converted[name] = [...value, null];
    else if (COUNTS.has(name) && typeof value === "string" && /^\d{1,15}$/.test(value)) converted[name] = Number(value);
    else if (name === "properties" && isJsonObject(value)) converted[name] = mapValues(value);
    else if (name === "items" || name === "additionalProperties") converted[name] = inner(value);
    else if (/^(?:any|one|all)Of$/.test(name) && Array.isArray(value)) converted[name] = value.map(inner);
    else converted[name] = value;
  }
  return converted;
}

const inner = (value: JsonValue): JsonValue => (isJsonObject(value) ? toJsonSchema(value) : value);

const mapValues = (values: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, inner(value)]));

const lowerCase = (value: JsonValue): JsonValue => (typeof value === "string" ? value.toLowerCase() : value);
