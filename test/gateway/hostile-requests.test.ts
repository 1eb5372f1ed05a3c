import { expect, it } from "vitest";
import { setUpBridge } from "../attack/support/bridge-stage.ts";
import { fuzzBridge } from "../attack/support/fuzz-bridge.ts";
import { fuzzHttp } from "../attack/support/fuzz-http.ts";
import { fuzzRequests } from "../attack/support/fuzz-requests.ts";
import { KEY, setUpGateway } from "./support/gateway-process.ts";

const always = { seed: 17, path: "", interruptAfterTimeLimit: 10_000 };

const TOKEN = "tok_of-the-account-0123456789";

it("no request fails the gateway, whatever is wrong with it: a few, always the same (FUZ-05)", {
  timeout: 60_000,
}, async () => {
  const { start, home } = await setUpGateway();
  const gateway = await start("--token", TOKEN);
  const target = { url: gateway.url, key: KEY, secrets: [TOKEN, home] };
  await fuzzHttp(target, { ...always, numRuns: 8 });
  await fuzzRequests(target, { ...always, numRuns: 200 });
  expect(await gateway.stop(), gateway.log().slice(-2000)).toBe(0);
});

it("no request of the IDE fails the bridge: a few, always the same (FUZ-05)", async () => {
  const { gateway, target } = await setUpBridge();
  await fuzzBridge(target, { ...always, numRuns: 100 });
  expect(await gateway.stop(), gateway.log().slice(-2000)).toBe(0);
});
