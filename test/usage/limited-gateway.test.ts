import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { addKey } from "../../src/server/gate/keys/gateway-keys.ts";
import { type Simulator, startSim } from "../../src/sim/server.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../gateway/support/own-gateway.ts";

let sim: Simulator;

afterEach(() => sim.close());

async function setUp(...ownLimits: readonly string[]) {
  sim = await startSim();
  const gateway = await openOwnGateway({ upstream: sim.url, usage: { ownLimits } });
  const post = (path: string, body: object) =>
    fetch(`${gateway.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "gpt-5.5", max_tokens: 100_000, ...body }),
    });
  const chat = (content: string, more: object = {}) =>
    post("/v1/chat/completions", { messages: [{ role: "user", content }], ...more });
  return { gateway, chat };
}

describe("a gateway with limits", () => {
  it("refuses what is past a limit, after a restart too", async () => {
    const { gateway, chat } = await setUp("1000 tokens/day");
    await (await chat("@sim usage 900 200 ;; say hello")).text();
    await gateway.restart();
    const refused = await chat("@sim say more");
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([429, "false"]);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining("used 1100 tokens") } });
  });

  it("refuses tokens past those of a minute, and serves the next one", async () => {
    const noon = Date.UTC(2026, 10, 16, 12);
    const clock = vi.spyOn(Date, "now").mockReturnValue(noon + 20_000);
    onTestFinished(() => clock.mockRestore());
    const { chat } = await setUp("1000 tokens/minute");
    await (await chat("@sim usage 900 200 ;; say hello")).text();
    const refused = await chat("@sim say more");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "40"]);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining("used 1100 tokens") } });
    clock.mockReturnValue(noon + 60_000);
    expect((await chat("@sim say more")).status).toBe(200);
  });

  it("counts in the new day after the clock was set back into the old one (REL-39)", async () => {
    const noon = Date.UTC(2026, 10, 16, 12);
    const clock = vi.spyOn(Date, "now").mockReturnValue(noon);
    onTestFinished(() => clock.mockRestore());
    const { chat } = await setUp("1000 tokens/day");
    const ask = async () => {
      const response = await chat("@sim usage 600 0 ;; say hello");
      await response.text();
      return response.status;
    };
    expect([await ask(), await ask(), await ask()]).toEqual([200, 200, 429]);
    clock.mockReturnValue(noon + 13 * 3_600_000);
    expect(await ask()).toBe(200);
    clock.mockReturnValue(noon + 11 * 3_600_000);
    expect([await ask(), await ask()]).toEqual([200, 429]);
    clock.mockReturnValue(noon + 36 * 3_600_000);
    expect(await ask()).toBe(200);
  });

  it("refuses its own key's requests per minute", async () => {
    const { chat } = await setUp("1 requests/minute");
    expect((await chat("@sim say hello")).status).toBe(200);
    const refused = await chat("@sim say more");
    expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining("1 requests per minute")]);
  });

  it("refuses a limit in dollars for a model without a price", async () => {
    const { chat } = await setUp("$5/day");
    const refused = await chat("@sim say hello", { model: "auto" });
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining("no_price")]);
    expect((await chat("@sim say hello")).status).toBe(200);
  });
});

describe("a gateway without the usage record", () => {
  const body = JSON.stringify({ model: "gpt-5.5", messages: [{ role: "user", content: "@sim say hello" }] });
  const ask = (url: string, key: string) =>
    fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body,
    });

  it("answers and writes no rows; a key with a limit that needs them is refused", async () => {
    sim = await startSim();
    const gateway = await openOwnGateway({
      upstream: sim.url,
      usage: { record: "off", ownLimits: ["60 requests/minute"] },
    });
    const limits = { usage: ["1000 tokens/day"] };
    const limited = (await addKey(gateway.home, "alice", { account: undefined, limits })).reveal();
    expect((await ask(gateway.url, KEY)).status).toBe(200);
    const refused = await ask(gateway.url, limited);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      error: { code: "limit_without_record", message: expect.stringContaining("1000 tokens in one day") },
    });
    await gateway.restart();
    expect(existsSync(join(gateway.home, "usage.db"))).toBe(false);
  });

  it("does not start with limits of its own that need the record", async () => {
    sim = await startSim();
    const usage = { record: "off", ownLimits: ["$5/day"] };
    await expect(openOwnGateway({ upstream: sim.url, usage })).rejects.toThrow(/usage\.record is off/);
  });
});
