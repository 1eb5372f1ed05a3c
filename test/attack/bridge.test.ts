import { expect, it } from "vitest";
import { setUpBridge } from "./support/bridge-stage.ts";
import { fuzzBridge } from "./support/fuzz-bridge.ts";
import { fuzzBudget } from "./support/seed.ts";

it("no request of the IDE fails the bridge, whatever is wrong with it (FUZ-05)", async () => {
  const { gateway, target } = await setUpBridge();
  await fuzzBridge(target, fuzzBudget(5000, 25_000));
  expect(await gateway.stop(), gateway.log().slice(-2000)).toBe(0);
});
