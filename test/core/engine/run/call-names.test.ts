import { expect, it } from "vitest";
import { CallNames, runIdOf } from "../../../../src/core/engine/run/call-names.ts";

it("call ids lead back to their run, and no two runs have the same", () => {
  const id = new CallNames().toClient("x");
  expect(id).toMatch(/^sess_[\w-]{22}__call_0$/);
  expect(runIdOf(id)).toBe(id.slice(0, -"__call_0".length));
  expect(new CallNames().runId).not.toBe(new CallNames().runId);
  expect(runIdOf("call_abcdef")).toBeUndefined();
});
