import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/turn.ts";
import { reduceSchema } from "../../src/schema/reduce-schema.ts";
import { LADDER, nested } from "./support/hostile-schemas.ts";

const reduced = (schema: JsonObject): JsonObject => {
  const { $defs, ...rest } = JSON.parse(reduceSchema(schema).json);
  return Object.keys($defs).length === 0 ? rest : { ...rest, $defs };
};

describe("a schema that is reduced", () => {
  it("loses annotations and definitions that nothing refers to, wherever they are", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "https://example.com/a",
      $comment: "c",
      title: "T",
      description: "D",
      "x-order": ["a"],
      markdownDescription: "M",
      type: "object",
      properties: {
        a: { type: "string", format: "email", default: "x", examples: ["y"], title: "A" },
        title: { type: "string" },
      },
      $defs: { unused: { $async: true } },
      definitions: { unused: 5 },
    };
    expect(reduced(schema)).toEqual({
      type: "object",
      properties: { a: { type: "string" }, title: { type: "string" } },
    });
  });

  it.each<[string, JsonObject, JsonObject]>([
    [
      "of pydantic",
      { $defs: { A: { type: "string" } }, properties: { a: { $ref: "#/$defs/A" }, b: { $ref: "#/$defs/A" } } },
      { properties: { a: { $ref: "#/$defs/d1" }, b: { $ref: "#/$defs/d1" } }, $defs: { d1: { type: "string" } } },
    ],
    [
      "to a property",
      { properties: { a: { type: "null" }, "b/c%": { $ref: "#/properties/a" }, d: { $ref: "#/properties/b~1c%25" } } },
      {
        properties: { a: { type: "null" }, "b/c%": { $ref: "#/$defs/d2" }, d: { $ref: "#/$defs/d1" } },
        $defs: { d1: { $ref: "#/$defs/d2" }, d2: { type: "null" } },
      },
    ],
    [
      "of OpenAPI",
      { $ref: "#/components/schemas/A", components: { schemas: { A: { type: "array", items: { $ref: "#" } } } } },
      { $ref: "#/$defs/d1", $defs: { d1: { type: "array", items: { $ref: "#" } } } },
    ],
    [
      "by an $id, as TypeBox makes them",
      { properties: { tree: { $id: "Node", properties: { next: { $ref: "Node" }, self: { $ref: "#" } } } } },
      {
        properties: { tree: { properties: { next: { $ref: "#/$defs/d1" }, self: { $ref: "#/$defs/d1" } } } },
        $defs: { d1: { properties: { next: { $ref: "#/$defs/d1" }, self: { $ref: "#/$defs/d1" } } } },
      },
    ],
    [
      "by an $anchor, and by the whole address",
      {
        $id: "https://x/y",
        items: { $ref: "#a" },
        contains: { $ref: "https://x/y#/$defs/a" },
        $defs: { a: { $anchor: "a" } },
      },
      { items: { $ref: "#/$defs/d1" }, contains: { $ref: "#/$defs/d1" }, $defs: { d1: {} } },
    ],
  ])("keeps its references %s", (_, schema, expected) => {
    expect(reduced(schema)).toEqual(expected);
  });

  it.each<[string, JsonObject, string]>([
    ["by what $schema says", { $schema: "http://json-schema.org/draft-07/schema#" }, "2019"],
    ["by what $schema says", { $schema: "https://json-schema.org/draft/2020-12/schema" }, "2020"],
    ["by a list under items", { properties: { a: { items: [true] } } }, "2019"],
    ["by default", { items: {} }, "2020"],
  ])("is of a draft, %s", (_, schema, draft) => {
    expect(reduceSchema(schema).draft).toBe(draft);
  });

  it("has the same digest as one that differs by annotations alone", () => {
    const digest = (schema: JsonObject) => reduceSchema(schema).digest;
    expect(digest({ type: "string", title: "a" })).toBe(digest({ title: "b", type: "string" }));
    expect(digest({ items: [] })).not.toBe(
      digest({ $schema: "https://json-schema.org/draft/2020-12/schema", items: [] }),
    );
  });
});

describe("a schema is refused, with the place,", () => {
  const LARGE = /^its JSON text has more than 524288 characters/;
  const many = (count: number, make: (index: number) => JsonValue) => Array.from({ length: count }, (_, n) => make(n));
  const named = (count: number, make: (index: number) => JsonValue) =>
    Object.fromEntries(many(count, make).map((value, index) => [`n${index}`, value]));

  it.each<[string, JsonObject, RegExp]>([
    [
      "with $async",
      { properties: { a: { $async: true } } },
      /^\/properties\/a\/\$async: this keyword is not supported/,
    ],
    ["with $dynamicRef", { $dynamicRef: "#a" }, /^\/\$dynamicRef/],
    ["with a keyword nobody knows that begins like those", { $data: 1 }, /^\/\$data/],
    ["with a keyword of draft 3", { disallow: "string" }, /^\/disallow/],
    [
      "with a reference elsewhere",
      { $ref: "https://example.com/x" },
      /^\/\$ref: expected a reference to a schema inside/,
    ],
    ["with a reference to nothing", { $ref: "#/$defs/a" }, /^\/\$ref/],
    ["with a reference through a prototype", { $ref: "#/constructor" }, /^\/\$ref/],
    ["with a reference to no schema", { $ref: "#/required", required: ["a"] }, /^\/\$ref/],
    ["with a broken reference", { $ref: "#/%zz" }, /^\/\$ref/],
    ["that is only itself", { $ref: "#" }, /leads back to itself/],
    [
      "that is itself in the end",
      { anyOf: [{ not: { $ref: "#/$defs/a" } }], $defs: { a: { if: { $ref: "#" } } } },
      /itself/,
    ],
    [
      "with a name that the validator passes over",
      JSON.parse('{"properties":{"__proto__":{}}}'),
      /^\/properties\/__proto__/,
    ],
    ["with an unknown type", { type: ["string", "strin"] }, /^\/type: expected one or several of/],
    [
      "with a deep list of names",
      { required: [nested(100, [])] as JsonValue[] },
      /^\/required: expected a list of names/,
    ],
    ["with something else for a schema", { properties: { a: null } }, /^\/properties\/a: expected a schema/],
    ["with something else for schemas", { anyOf: {} }, /^\/anyOf: expected a list of schemas/],
    ["with something else for a number", { maxLength: { toString: 1 } }, /^\/maxLength: expected a whole number/],
    [
      "with prefixItems of another draft",
      { $schema: "http://json-schema.org/draft-07/schema#", prefixItems: [{}] },
      /^\/prefix/,
    ],
    ["with too many properties", { properties: named(5001, () => ({})) }, /more than 5000 schemas/],
    ["with too many members that are no keywords", named(100_000, () => 1), LARGE],
    ["with too long a description", { description: "x".repeat(600_000) }, LARGE],
    ["with too much in definitions that nothing refers to", { $defs: { a: { b: many(300_000, () => 1) } } }, LARGE],
    ["with too many dependent names", { dependentRequired: named(100_000, () => []) }, LARGE],
    ["with too many alternatives", { oneOf: many(3000, () => ({})) }, /too many alternatives/],
    ["with too many values", { enum: many(20_001, (index) => index) }, /too many/],
    ["with too much text", { enum: ["x".repeat(300_000)] }, /more than 262144 characters/],
    [
      "with too long a pattern",
      { pattern: "a".repeat(1025) },
      /^\/pattern: expected regular expressions of at most 1024/,
    ],
    [
      "with too long a pattern for names",
      { patternProperties: { ["a".repeat(1025)]: true } },
      /^\/patternProperties: /,
    ],
    ["nested too deep", nested(65, {}, "not") as JsonObject, /nested more than 64 schemas deep/],
    ["with a value nested too deep", { const: nested(100, []) }, /nested too deep/],
    ["with a ladder of references", LADDER, /its references make too many schemas apply/],
  ])("%s", (_, schema, message) => {
    expect(() => reduceSchema(schema)).toThrow(message);
  });

  it("but not for what nothing refers to", () => {
    expect(reduced({ $defs: { a: { $async: true } }, definitions: 5 })).toEqual({});
  });

  it("and its place is cut short", () => {
    expect(() => reduceSchema({ properties: { ["a".repeat(10_000)]: 1 } })).toThrow(/^.{0,300}$/);
  });
});
