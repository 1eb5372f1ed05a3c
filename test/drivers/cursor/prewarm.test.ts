import { expect, it, onTestFinished, vi } from "vitest";
import { ExcursorError } from "../../../src/core/errors.ts";
import { Secret } from "../../../src/core/secret.ts";
import { openCursorDriver } from "../../../src/drivers/cursor/open-driver.ts";
import type { TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { createConnectionPool } from "../../../src/wire/http/connection-pool.ts";
import { createHttp1Transport } from "../../../src/wire/http/h1-transport.ts";
import { driverServices } from "../support/driver-services.ts";
import { aTurn, open, read, user } from "./support/driver-stage.ts";

const LISTS = ["/agent.v1.AgentService/GetUsableModels", "/aiserver.v1.AiService/AvailableModels"];
const SETTINGS = [
  "/aiserver.v1.DashboardService/GetUserPrivacyMode",
  "/aiserver.v1.ServerConfigService/GetServerConfig",
];

/** The driver as the gateway opens it, in front of a backend, or of none. */
async function setUp(settings: { isOffline?: boolean; isSignedIn?: boolean; hostConfig?: "h1" | "h2" } = {}) {
  const { isOffline = false, isSignedIn = true, hostConfig = "h2" } = settings;
  const trace: TraceEntry[] = [];
  const sim = await startSim({ trace: (entry) => trace.push(entry), hostConfig });
  if (isOffline) await sim.close();
  if (!isOffline) onTestFinished(() => sim.close());
  const h2 = createConnectionPool();
  const warnings: string[] = [];
  const driver = openCursorDriver({
    ...driverServices({
      origin: sim.url,
      transports: { h1: createHttp1Transport(), h2 },
      access: {
        get: async () => {
          if (!isSignedIn) throw new ExcursorError("unauthenticated", "Nobody is signed in.");
          return { account: "a", token: new Secret("tester") };
        },
        renew: async () => undefined,
      },
      log: { info: (_, text) => warnings.push(text), warn: (_, text) => warnings.push(text) },
    }),
    settings: {
      agentUpstream: undefined,
      transport: "auto",
      clientVersion: undefined,
      checksum: undefined,
      context: "refuse",
    },
    entry: undefined,
  });
  const asked = () =>
    trace.flatMap(({ kind, message }) => (kind === "request" ? [(message as { readonly path: string }).path] : []));
  return { driver, h2, asked, warnings };
}

it("asks for models and settings and connects, and a run asks for neither again", async () => {
  const { driver, h2, asked } = await setUp();
  await driver.prewarm?.();
  expect(asked().sort()).toEqual([...LISTS, ...SETTINGS].sort());
  await vi.waitFor(() => expect(h2.stats()).toEqual({ connections: 1, streams: 0, waiting: 0 }));
  const turn = aTurn([user("@sim say hello")], { model: { id: "auto", effort: undefined } });
  expect(await read(open(driver, turn))).toMatchObject({ text: "hello", error: undefined });
  expect(asked().filter((path) => path !== "/agent.v1.AgentService/Run")).toHaveLength(4);
  expect(h2.stats().connections).toBe(1);
});

it("opens no HTTP/2 connection where runs go over HTTP/1.1", async () => {
  const { driver, h2 } = await setUp({ hostConfig: "h1" });
  await driver.prewarm?.();
  expect(h2.stats().connections).toBe(0);
});

it.each([
  ["the backend cannot be reached", { isOffline: true }],
  ["nobody is signed in", { isSignedIn: false }],
])("says nothing where %s", async (_, settings) => {
  const { driver, asked, warnings } = await setUp(settings);
  await expect(driver.prewarm?.()).resolves.toBeUndefined();
  expect([asked(), warnings]).toEqual([[], []]);
});
