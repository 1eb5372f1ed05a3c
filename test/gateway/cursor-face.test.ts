import { once } from "node:events";
import { connect } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { BackendClient } from "../sim/support/backend-client.ts";
import { KEY, setUpGateway } from "./support/gateway-process.ts";

async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

const FACE = ["--cursor-face", "--cursor-port", "0"];

describe("serve --cursor-face", () => {
  it.each(["h1", "h2"] as const)("passes runs of the account on, over %s", async (transport) => {
    const { open } = await setUpGateway();
    const { cursorUrl = "" } = await open(...FACE);
    const client = new BackendClient({ url: cursorUrl, transport, token: "tester" });
    const { text: said, error } = await client.say("@sim say hello from the account");
    client.close();
    expect([said, error]).toEqual(["hello from the account", undefined]);
  });

  it("listens only if it is told to", async () => {
    const { open } = await setUpGateway();
    expect((await open()).cursorUrl).toBeUndefined();
  });

  it("lets no page and no other Host in (SEC-05, SEC-06)", async () => {
    const { open } = await setUpGateway();
    const { cursorUrl = "" } = await open(...FACE);
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${cursorUrl}/v1/models`, { headers })).status;
    expect(await status({ authorization: "Bearer tester" })).toBe(200);
    expect(await status({ authorization: "Bearer tester", origin: "https://evil.example" })).toBe(403);
    expect(await status({ authorization: "Bearer tester", origin: cursorUrl })).toBe(403);
    const session = connect(cursorUrl);
    const ask = (authority: string) => {
      const stream = session.request({
        ":path": "/v1/models",
        ":authority": authority,
        authorization: "Bearer tester",
      });
      return text(stream.end());
    };
    expect(await ask(new URL(cursorUrl).host)).toContain("items");
    expect(await ask("evil.example")).toContain("unknown_host");
    session.close();
  });

  it("limits how many wrong keys an address may try, and always takes the right one (SEC-09)", async () => {
    const { open } = await setUpGateway();
    const { cursorUrl = "" } = await open(...FACE);
    const status = async (token: string) =>
      (await fetch(`${cursorUrl}/v1/models`, { headers: { authorization: `Bearer ${token}` } })).status;
    const statuses: number[] = [];
    for (let guess = 0; guess < 12; guess++)
      statuses.push(
        await status(`${guess % 2 ? "exc_" : "eyJhbGciOiJIUzI1NiIsImtpZCI6ImV4Y3Vyc29yIiwidHlwIjoiSldUIn0."}${guess}`),
      );
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect([await status(KEY), await status("tester")]).toEqual([200, 200]);
  });

  it("counts wrong keys wherever they stand, and passes none of them on (A7)", async () => {
    const { open, trace } = await setUpGateway();
    const { cursorUrl = "" } = await open(...FACE);
    const ask = async (headers: Record<string, string>, path = "/v1/models") =>
      (await fetch(cursorUrl + path, { headers })).status;
    const guess = (n: number) => `exc_${String(n).padStart(43, "k")}`;
    const statuses = [
      await ask({ "x-api-key": guess(1) }),
      await ask({ authorization: `Token ${guess(2)}` }),
      await ask({ authorization: guess(3) }),
      await ask({ authorization: `Basic ${Buffer.from(`${guess(4)}:`).toString("base64")}` }),
      await ask({ authorization: "Bearer tester", cookie: `a=b; c=${guess(5)}` }),
      await ask({ authorization: "Bearer tester", "x-goog-api-key": guess(6) }),
      await ask({ authorization: "Bearer tester" }, `/v1/models?key=${guess(7)}`),
    ];
    for (let n = 8; n < 13; n++) statuses.push(await ask({ "x-api-key": guess(n) }));
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect(JSON.stringify(trace)).not.toContain("/v1/models");
    expect(await ask({ authorization: "Bearer tester" })).toBe(200);
    expect(JSON.stringify(trace)).toContain("/v1/models");
  });

  it("passes no key of the user's own choice on, in whatever header (A8)", async () => {
    const { start, trace } = await setUpGateway();
    const key = "my:own=key/of-twenty-and-more";
    const { cursorUrl = "" } = await start(...FACE, "--key", key);
    const ask = async (headers: Record<string, string>, path = "/v1/models") =>
      (await fetch(cursorUrl + path, { headers })).status;
    const basic = Buffer.from(`${key}:`).toString("base64");
    const statuses = [
      await ask({ "x-api-key": key }),
      await ask({ authorization: `Token ${key}` }),
      await ask({ authorization: key }),
      await ask({ authorization: `Basic ${basic}` }),
      await ask({ authorization: "Bearer tester", "api-key": key }),
      await ask({ authorization: "Bearer tester" }, `/v1/models?key=${key}`),
    ];
    expect(statuses).toEqual(statuses.map(() => 401));
    expect(JSON.stringify(trace)).not.toContain("/v1/models");
    expect(await ask({ authorization: `Bearer ${key}` })).toBe(200);
  });

  it.each(["h1", "h2"] as const)("says that there is no such model of ours, over %s", async (transport) => {
    const { open } = await setUpGateway();
    const { cursorUrl = "" } = await open(...FACE);
    const client = new BackendClient({ url: cursorUrl, transport, token: KEY });
    const requestedModel = { modelId: "excursor/no-such-model" };
    const { error } = await client.say("hello", { request: { requestedModel } });
    client.close();
    expect([error?.kind, error?.message]).toEqual(["model-not-found", expect.stringContaining("no-such-model")]);
  });

  it("refuses to be its own backend", async () => {
    const { start } = await setUpGateway();
    const port = await freePort();
    const started = start("--cursor-face", "--cursor-port", port, "--upstream", `http://127.0.0.1:${port}`);
    await expect(started).rejects.toThrow("is the address of the listener for Cursor's clients");
  });

  it("lets a run finish when it is told to stop", async () => {
    const { start } = await setUpGateway();
    const { cursorUrl = "", stop } = await start(...FACE);
    const client = new BackendClient({ url: cursorUrl, transport: "h2", token: "tester" });
    let stopped: Promise<number | null> | undefined;
    const { text: said, error } = await client.say("@sim say one ;; tokens 20 20 ;; say two", {
      onMessage: () => {
        stopped ??= stop();
      },
    });
    client.close();
    expect([said.startsWith("one"), said.endsWith("two"), error]).toEqual([true, true, undefined]);
    expect(await stopped).toBe(0);
  });
});
