import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { openOwnGateway } from "../../gateway/support/own-gateway.ts";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const entry = (driver: string, port: number) => ({
  driver,
  baseURL: `http://127.0.0.1:${port}${driver === "openai" ? "/v1" : ""}`,
  keyVariable: "TEST_LOOP_KEY",
});

const ask = (url: string, body: object = {}) =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "loop", messages: [{ role: "user", content: "hello" }], ...body }),
  });

/** How many requests for an answer a gateway has logged. */
const hops = (log: string) => log.split("\n").filter((line) => line.includes('"method":"POST"')).length;

beforeEach(() => {
  vi.stubEnv("TEST_LOOP_KEY", KEY);
});

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each(["openai", "anthropic"])(
  "a model of the driver %s whose address is the gateway's own (SEC-35)",
  (driver) => {
    it("is refused at the second hop, and the error names the entry", async () => {
      const port = await freePort();
      const gateway = await openOwnGateway({ port, models: { loop: entry(driver, port) } });
      const answer = await ask(gateway.url);
      expect(answer.status).toBe(500);
      expect(answer.headers.get("x-should-retry")).toBe("false");
      expect(await answer.json()).toMatchObject({
        error: { code: "gateway_loop", message: expect.stringContaining("models → loop") },
      });
      await gateway.restart();
      const log = gateway.log();
      expect(hops(log)).toBe(2);
      expect(log).toContain('"status":508');
    });

    it("does not hold up the list of models", async () => {
      const port = await freePort();
      const gateway = await openOwnGateway({ port, models: { "loop/*": entry(driver, port) } });
      const models = await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${KEY}` } });
      await models.text();
      await gateway.restart();
      const requests = gateway
        .log()
        .split("\n")
        .filter((line) => line.includes("/v1/models"));
      expect(requests).toHaveLength(2);
    });
  },
);

it("a circle of two gateways is refused where it closes", async () => {
  const [a, b] = [await freePort(), await freePort()];
  const first = await openOwnGateway({ port: a, models: { loop: entry("openai", b) } });
  const second = await openOwnGateway({ port: b, models: { loop: entry("openai", a) } });
  const answer = await ask(first.url);
  expect(await answer.json()).toMatchObject({ error: { code: "gateway_loop" } });
  await Promise.all([first.restart(), second.restart()]);
  expect([hops(first.log()), hops(second.log())]).toEqual([2, 1]);
});

it("a header that somebody made up is none of ours, and too long a way is refused", async () => {
  const gateway = await openOwnGateway({});
  const withHops = (value: string) =>
    fetch(`${gateway.url}/v1/responses/none`, { headers: { authorization: `Bearer ${KEY}`, "x-excursor-hop": value } });
  expect((await withHops("made-up")).status).toBe(404);
  expect((await withHops(Array.from({ length: 8 }, (_, n) => `id-${n}`).join(","))).status).toBe(508);
});
