import { readdirSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { type Simulator, startSim } from "../../../src/sim/server.ts";
import { KEY } from "../support/gateway-process.ts";
import { openOwnGateway } from "../support/own-gateway.ts";

let sim: Simulator | undefined;

afterEach(() => sim?.close());

it.each([
  ["off", []],
  ["on", [expect.stringMatching(/^state-/)]],
])("with state %s, the home folder has what it should after a conversation", async (state, kept) => {
  sim = await startSim();
  const gateway = await openOwnGateway({ upstream: sim.url, state });
  const ask = (body: object) =>
    fetch(`${gateway.url}/v1/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "auto", ...body }),
    });
  const first = (await (await ask({ input: "@sim say one" })).json()) as { id: string };
  // Within one life of the process nothing is missing.
  expect((await ask({ input: "@sim say two", previous_response_id: first.id })).status).toBe(200);
  const files = readdirSync(gateway.home).filter((name) => name !== "config.json" && !/-(?:wal|shm)$/.test(name));
  expect(files.filter((name) => name.startsWith("state"))).toEqual(kept);
  if (state === "off") expect(files).toEqual([]);
  await gateway.restart();
  expect((await ask({ input: "x", previous_response_id: first.id })).status).toBe(state === "on" ? 200 : 400);
});
