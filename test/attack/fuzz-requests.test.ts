import { expect, it } from "vitest";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { fuzzHttp } from "./support/fuzz-http.ts";
import { fuzzRequests, type Target } from "./support/fuzz-requests.ts";
import { fuzzBudget } from "./support/seed.ts";

const TOKEN = "tok_of-the-account-0123456789";

async function setUp() {
  const stage = await setUpGateway();
  const gateway = await stage.start("--token", TOKEN);
  const target: Target = { url: gateway.url, key: KEY, secrets: [TOKEN, stage.home] };
  return { gateway, target };
}

it("no body fails the gateway, whatever is wrong with it (FUZ-05)", async () => {
  const { gateway, target } = await setUp();
  await fuzzRequests(target, fuzzBudget(20_000, 70_000));
  expect(await gateway.stop(), gateway.log().slice(-2000)).toBe(0);
});

it("no bytes fail the gateway, whatever is wrong with them (FUZ-05)", async () => {
  const { gateway, target } = await setUp();
  await fuzzHttp(target, fuzzBudget(500, 30_000));
  await fuzzRequests(target, fuzzBudget(50, 5000));
  expect(await gateway.stop(), gateway.log().slice(-2000)).toBe(0);
});
