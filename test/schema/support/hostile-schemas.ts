import type { JsonObject, JsonValue } from "../../../src/core/turn.ts";

/** A value inside so many lists, or objects with this one member. */
export function nested(depth: number, inner: JsonValue, name?: string): JsonValue {
  let value = inner;
  for (let level = 0; level < depth; level++) value = name === undefined ? [value] : { [name]: value };
  return value;
}

/** 2^29 schemas for one value. */
export const LADDER: JsonObject = {
  $ref: "#/$defs/n0",
  $defs: Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [
      `n${n}`,
      n === 29 ? { type: "object" } : { allOf: [{ $ref: `#/$defs/n${n + 1}` }, { $ref: `#/$defs/n${n + 1}` }] },
    ]),
  ),
};

/** Ajv, left to itself, looks into each of these lists twice, and so 2^40 times into the innermost. */
export const ENDLESS_ENUMS: JsonObject = {
  type: "object",
  properties: { a: { $ref: "#/$defs/a" } },
  $defs: { a: { enum: [nested(40, { enum: [1] })] } },
};

/** The check takes for ever with {@link SLOW_ANSWER}, and compiles in no time. */
export const SLOW_PATTERN: JsonObject = {
  type: "object",
  properties: { a: { type: "string", pattern: "^(a+)+$" } },
  required: ["a"],
};
export const SLOW_ANSWER = JSON.stringify({ a: `${"a".repeat(40)}!` });

/** Like {@link SLOW_PATTERN}, by a schema that follows the answer in two ways at each level. */
export const DOUBLING: JsonObject = {
  allOf: [{ properties: { x: { $ref: "#" } } }, { properties: { x: { $ref: "#" } } }],
};
export const DOUBLING_ANSWER = JSON.stringify(nested(40, 1, "x"));
