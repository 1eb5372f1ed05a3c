import { expect, it } from "vitest";
import { fuzzAcp, setUpAcp } from "./support/fuzz-acp.ts";
import { fuzzBudget } from "./support/seed.ts";

it("no line fails `excursor acp`, whatever is wrong with it or its place (FUZ-05)", async () => {
  const editor = setUpAcp();
  await fuzzAcp(editor, fuzzBudget(3000, 25_000));
  const { code, stderr } = await editor.leave();
  expect(code, stderr.slice(-2000)).toBe(0);
});
