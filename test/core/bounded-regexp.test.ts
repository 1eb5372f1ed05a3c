import { expect, it } from "vitest";
import { boundedRegExp } from "../../src/core/bounded-regexp.ts";

it("a pattern matches as it should, and one that would never end does not match (SEC-26)", () => {
  expect(boundedRegExp("^a+$", "u").test("aaa")).toBe(true);
  expect(boundedRegExp("^a+$", "u").test("aab")).toBe(false);
  expect(boundedRegExp("^(a+)+$", "u").test(`${"a".repeat(40)}!`)).toBe(false);
});
