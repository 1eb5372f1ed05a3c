import { expect, it } from "vitest";
import { fuzzAcp, setUpAcp } from "../attack/support/fuzz-acp.ts";
import { fuzzMcpServe, setUpMcpServe } from "../attack/support/fuzz-mcp-serve.ts";

const always = { seed: 17, path: "", interruptAfterTimeLimit: 10_000 };

it("no message fails `mcp serve --port`: a few, always the same (FUZ-05)", async () => {
  const { target, stop } = await setUpMcpServe();
  await fuzzMcpServe(target, { ...always, numRuns: 20 });
  const { code, stderr } = await stop();
  expect(code, stderr.slice(-2000)).toBe(0);
});

it("no line fails `excursor acp`: a few, always the same (FUZ-05)", async () => {
  const editor = setUpAcp();
  await fuzzAcp(editor, { ...always, numRuns: 30 });
  const { code, stderr } = await editor.leave();
  expect(code, stderr.slice(-2000)).toBe(0);
});
