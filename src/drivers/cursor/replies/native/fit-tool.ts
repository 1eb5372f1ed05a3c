import { isJsonObject } from "../../../../core/json/is-json-object.ts";
import type { JsonObject, JsonValue, ToolDefinition } from "../../../../core/turn.ts";

/** One argument for a tool, under the first of these names that its schema has. */
export interface Argument {
  readonly names: readonly string[];
  readonly value: JsonValue;
  /** The value for a tool that wants a list. Default: a list of the one value. */
  readonly list?: readonly JsonValue[];
  /** `needed`: the tool must have it. `offered`: set if the tool has it. `filler`: set if the tool requires it. */
  readonly use: "needed" | "offered" | "filler";
}

/** Arguments that many tools require and no request has. */
const FILLERS: readonly Argument[] = [
  { names: ["isBackground", "runInBackground", "background"], value: false, use: "filler" },
  { names: ["requiresApproval"], value: true, use: "filler" },
];

/** Returns the arguments as the tool's schema names and types them, or undefined if they do not fit. */
export function fitArguments(tool: ToolDefinition, args: readonly Argument[]): JsonObject | undefined {
  const properties = Object.entries(objectAt(tool.schema, "properties"));
  const required = new Set(listAt(tool.schema, "required"));
  const fitted = new Map<string, JsonValue>();
  for (const argument of [...args, ...FILLERS]) {
    const place = argument.names
      .map((name) => properties.find(([key]) => alike(key, name)))
      .find((property) => property !== undefined);
    if (place && !fitted.has(place[0]) && (argument.use !== "filler" || required.has(place[0]))) {
      const value = typed(argument, place[1]);
      if (value !== undefined) {
        fitted.set(place[0], value);
        continue;
      }
    }
    if (argument.use === "needed") return undefined;
  }
  for (const key of required) {
    if (typeof key !== "string" || fitted.has(key)) continue;
    const value = preset(properties.find(([name]) => name === key)?.[1]);
    if (value === undefined) return undefined;
    fitted.set(key, value);
  }
  return Object.fromEntries(fitted);
}

/** Returns whether two names differ only in case and separators: `read_file`, `readFile`, `Read-File`. */
export function alike(left: string, right: string): boolean {
  return plain(left) === plain(right);
}

const plain = (name: string): string => name.toLowerCase().replace(/[_-]/g, "");

function typed({ value, list }: Argument, schema: JsonValue | undefined): JsonValue | undefined {
  const allowed = listAt(schema, "enum");
  if (allowed.length > 0) return allowed.find((one) => one === value);
  const types = typesOf(schema);
  const type = Array.isArray(value) ? "array" : typeof value;
  if (types.size === 0 || types.has(type) || (Number.isInteger(value) && types.has("integer"))) return value;
  if (types.has("array")) return list ?? [value];
  return type === "number" && types.has("string") ? String(value) : undefined;
}

/** Returns a default for a required property that we do not know. */
function preset(schema: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(schema)) return undefined;
  return schema["default"] ?? schema["const"] ?? (typesOf(schema).has("null") ? null : undefined);
}

function typesOf(schema: JsonValue | undefined): ReadonlySet<JsonValue> {
  if (!isJsonObject(schema)) return new Set();
  const { type } = schema;
  const variants = [...listAt(schema, "anyOf"), ...listAt(schema, "oneOf")];
  return new Set([
    ...(Array.isArray(type) ? type : type === undefined ? [] : [type]),
    ...variants.flatMap((variant) => [...typesOf(variant)]),
  ]);
}

/** Returns the description of the first of these properties that the tool has. Undefined if it has none of them. */
export function describedAs({ schema }: ToolDefinition, names: readonly string[]): string | undefined {
  const properties = Object.entries(objectAt(schema, "properties"));
  const property = properties.find(([key]) => names.some((name) => alike(key, name)));
  if (!property) return undefined;
  const text = isJsonObject(property[1]) ? property[1]["description"] : undefined;
  return typeof text === "string" ? text : "";
}

/** True if the client's tool takes text instead of JSON. Faces offer such a tool with `input` as its only property. */
export function takesFreeText({ schema }: ToolDefinition): boolean {
  const [only, ...others] = Object.keys(objectAt(schema, "properties"));
  return only === "input" && others.length === 0;
}

function objectAt(value: JsonValue | undefined, key: string): JsonObject {
  const member = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(member) ? member : {};
}

function listAt(value: JsonValue | undefined, key: string): readonly JsonValue[] {
  const member = isJsonObject(value) ? value[key] : undefined;
  return Array.isArray(member) ? member : [];
}
