import { expect, it } from "vitest";
import { fuzzMcpServe, setUpMcpServe } from "./support/fuzz-mcp-serve.ts";
import { fuzzBudget } from "./support/seed.ts";

it("no message fails `mcp serve --port`, whatever is wrong with it or its place (FUZ-05)", async () => {
  const { target, stop } = await setUpMcpServe();
  await fuzzMcpServe(target, fuzzBudget(3000, 25_000));
  const { code, stderr } = await stop();
  expect(code, stderr.slice(-2000)).toBe(0);
});
