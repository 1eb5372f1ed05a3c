import { expect, it } from "vitest";
import { CallNames, runIdOf, tagOf } from "../../../../src/core/engine/run/call-names.ts";

it("call ids have the same form with and without the tag of a gateway", () => {
  for (const tag of [undefined, "a-_9"]) {
    const id = new CallNames(tag).toClient("x");
    expect(id).toMatch(/^sess_[\w-]{22}__call_0$/);
    expect(runIdOf(id)).toBe(id.slice(0, -"__call_0".length));
    if (tag !== undefined) expect(tagOf(id)).toBe(tag);
  }
  expect(new CallNames("abcd").runId).not.toBe(new CallNames("abcd").runId);
  expect(tagOf("call_abcdef")).toBeUndefined();
});
