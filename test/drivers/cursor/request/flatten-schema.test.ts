import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../../src/core/turn.ts";
import { flattenSchema } from "../../../../src/drivers/cursor/request/flatten-schema.ts";

const text = { type: "string" };
const number = { type: "number" };

describe("schemas without choices", () => {
  it("common demands are found however many there are (SEC-26)", () => {
    const required = Array.from({ length: 200_000 }, (_, n) => `n${n}`);
    const other = required.toReversed();
    expect(flattenSchema({ anyOf: [{ required }, { required: other }] })["required"]).toHaveLength(200_000);
  });

  it.each<[string, JsonObject, JsonObject]>([
    [
      "what has none stays as it is",
      { type: "object", properties: { a: text }, required: ["a"] },
      { type: "object", properties: { a: text }, required: ["a"] },
    ],
    [
      "any of several objects: all properties, common demands",
      {
        anyOf: [
          { type: "object", properties: { a: text, b: text }, required: ["a", "b"] },
          { type: "object", properties: { a: text }, required: ["a"] },
        ],
      },
      { type: "object", properties: { a: text, b: text }, required: ["a"] },
    ],
    [
      "all of several objects: all demands",
      {
        type: "object",
        allOf: [
          { properties: { a: text }, required: ["a"] },
          { properties: { b: text }, required: ["b"] },
        ],
      },
      { type: "object", properties: { a: text, b: text }, required: ["a", "b"] },
    ],
    ["something or null is something", { anyOf: [{ type: "null" }, number] }, number],
    ["kinds that do not go together: the first", { oneOf: [text, number] }, text],
    ["a property may have any name", { properties: { oneOf: { oneOf: [text] } } }, { properties: { oneOf: text } }],
    [
      "also deep inside",
      { type: "object", properties: { a: { type: "array", items: { oneOf: [text] } } } },
      { type: "object", properties: { a: { type: "array", items: text } } },
    ],
  ])("%s", (_, schema, expected) => {
    expect(flattenSchema(schema)).toMatchObject(expected);
    expect(JSON.stringify(flattenSchema(schema))).not.toMatch(/"(oneOf|anyOf|allOf)":\[/);
  });

  it("whatever the schema, none is left", () => {
    const schema = fc.letrec<{ schema: JsonObject }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonObject>(text, number, {}),
        fc.record({
          type: fc.constant("object"),
          properties: fc.dictionary(fc.string({ maxLength: 3 }), tie("schema")),
        }),
        fc.record({ anyOf: fc.array(tie("schema"), { maxLength: 3 }) }),
        fc.record({ allOf: fc.array(tie("schema"), { maxLength: 3 }) }),
      ) as fc.Arbitrary<JsonObject>,
    })).schema;
    fc.assert(
      fc.property(schema, (given) => {
        expect(JSON.stringify(flattenSchema(given))).not.toMatch(/"(oneOf|anyOf|allOf)":\[/);
      }),
    );
  });
});
