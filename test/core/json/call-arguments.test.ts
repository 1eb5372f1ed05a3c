import { expect, it } from "vitest";
import { readArguments } from "../../../src/core/json/call-arguments.ts";

const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;

it.each([
  ["nothing", " ", {}],
  ["an object", '{"a":[1]}', { a: [1] }],
  ["a list", "[1]", { invalid_arguments: "[1]" }],
  ["no JSON", "{a", { invalid_arguments: "{a" }],
  ["as deep as a body may be", nested(128), JSON.parse(nested(128))],
  ["deeper", nested(129), { invalid_arguments: nested(129) }],
  ["much deeper", nested(100_000), { invalid_arguments: nested(100_000) }],
])("arguments of a call: %s", (_, text, args) => {
  expect(readArguments(text)).toEqual(args);
});
