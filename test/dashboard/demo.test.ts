import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { demoCalls, MIX } from "../../src/app/dashboard/demo-traffic.ts";
import { loadConfig } from "../../src/app/load-config.ts";
import { openGateway } from "../../src/app/open-gateway.ts";
import { Secret } from "../../src/core/secret.ts";
import type { DemoReply, NowMessage } from "../../src/dashboard/messages.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { openDashboard } from "./support/open-dashboard.ts";

async function readNow(response: Response): Promise<NowMessage> {
  const reader = response.body?.getReader();
  const read = await reader?.read();
  // A session may have few feeds.
  await reader?.cancel();
  return JSON.parse(new TextDecoder().decode(read?.value).slice("data: ".length)) as NowMessage;
}

/** The demo's own requests in the same order, without most of its pauses. */
const QUICK_MIX = MIX.map(({ afterMs, say, tool, ...rest }) => ({
  ...rest,
  afterMs: afterMs / 20,
  say: say.replace(/tokens (\d+) \d+/g, "tokens $1 1"),
  ...(tool && { tool: { ...tool, resultAfterMs: tool.resultAfterMs && tool.resultAfterMs / 20 } }),
}));

it("answers at once with the number of requests that it will play", async () => {
  const visitor = await openDashboard();
  expect(await (await visitor.send("POST", "/demo", {})).json()).toEqual({ requests: MIX.length });
});

it("plays real requests with tools, a parked run and errors, one mix at a time", async () => {
  const visitor = await openDashboard();
  const [call] = demoCalls(true, () => ({ url: visitor.url, key: new Secret(KEY) }), QUICK_MIX);
  const asked = { path: {}, query: new URLSearchParams(), body: {}, signal: new AbortController().signal };
  const [{ requests }] = [call?.handle(asked), call?.handle(asked)] as [DemoReply, DemoReply];
  const look = async () => readNow(await visitor.get("/feed"));
  // One more than the mix: the results of one tool come with a request of their own.
  await expect.poll(async () => (await look()).recent.length, { timeout: 60_000, interval: 200 }).toBe(requests + 1);
  const { recent, parked } = await look();
  expect(parked.map(({ tools }) => tools)).toEqual([["run_tests"]]);
  expect(new Set(recent.map(({ status }) => status))).toEqual(new Set([200, 404, 429]));
  expect(recent.some(({ run }) => run === "resumed")).toBe(true);
}, 90_000);

it("is refused outside of demo mode", async () => {
  const home = mkdtempSync(join(tmpdir(), "excursor-demo-"));
  writeFileSync(join(home, "config.json"), JSON.stringify({ port: 0 }), { mode: 0o600 });
  const loaded = loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home } });
  const gateway = await openGateway(loaded, { isDemo: true, writeLog: () => {} });
  const [call] = demoCalls(false, () => gateway);
  expect(() =>
    call?.handle({ path: {}, query: new URLSearchParams(), body: {}, signal: new AbortController().signal }),
  ).toThrow("no demo traffic");
  await gateway.close(0);
  rmSync(home, { recursive: true, force: true });
});
