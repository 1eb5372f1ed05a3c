import { expect, it } from "vitest";
import { describeValue } from "../../../src/core/json/describe-value.ts";

it.each<[unknown, string]>([
  [undefined, "nothing"],
  [null, "null"],
  [7, "a number"],
  [false, "a boolean"],
  ['say "hi"\n', '"say \\"hi\\"\\n"'],
  ["x".repeat(65), "a string"],
  [[1], "an array"],
  [JSON.parse('{"toString":1}'), "an object"],
  [JSON.parse('{"toString":null,"valueOf":1,"toJSON":2,"__proto__":3}'), "an object"],
])("%j is described without calling anything of it", (value, expected) => {
  expect(describeValue(value)).toBe(expected);
});
