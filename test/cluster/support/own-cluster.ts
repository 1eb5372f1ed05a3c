import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { loadConfig } from "../../../src/app/load-config.ts";
import { openGateway } from "../../../src/app/open-gateway.ts";
import type { FixedLimits } from "../../../src/config/limits.ts";
import type { SimOptions, TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { startRedis } from "./redis-process.ts";

export interface OwnNode {
  readonly name: string;
  readonly url: string;
  /** Of its listener for Cursor's own clients, if it has one. */
  readonly cursorUrl: string | undefined;
  readonly home: string;
  readonly client: OpenAI;
  readonly log: () => string;
  close(graceMs?: number): Promise<void>;
}

/** Opens gateways in this process that share a Redis and a simulated backend. Each has a home of its own. */
export async function openOwnCluster(
  defer: (cleanup: () => unknown) => void,
  sim: Partial<SimOptions> = {},
  environment: Readonly<Record<string, string>> = {},
  limits: Partial<FixedLimits> = { handoverMs: 0 },
) {
  const redis = await startRedis(defer);
  const trace: TraceEntry[] = [];
  const backend = await startSim({ trace: (entry) => trace.push(entry), ...sim });
  defer(() => backend.close());
  /** The settings of a gateway. */
  const environmentOf = (name: string): Readonly<Record<string, string>> => ({
    EXCURSOR_PORT: "0",
    EXCURSOR_KEY: KEY,
    EXCURSOR_UPSTREAM: backend.url,
    EXCURSOR_TOKEN: "tester",
    EXCURSOR_CLUSTER_REDIS: redis.url,
    EXCURSOR_CLUSTER_NODE: name,
    ...environment,
  });
  const open = async (name: string, more: Readonly<Record<string, string>> = {}): Promise<OwnNode> => {
    const home = mkdtempSync(join(tmpdir(), "excursor-node-"));
    defer(() => rmSync(home, { recursive: true, force: true }));
    const loaded = loadConfig({
      flags: {},
      environment: { EXCURSOR_HOME: home, ...environmentOf(name), ...more },
      limits,
    });
    let log = "";
    const gateway = await openGateway(loaded, {
      isDemo: false,
      dashboard: { version: "1.2.3", examine: async () => [] },
      writeLog: (text) => {
        log += text;
      },
    });
    const close = (graceMs?: number) => gateway.close(graceMs);
    defer(() => close(0));
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEY, maxRetries: 0 });
    return { name, url: gateway.url, cursorUrl: gateway.cursorUrl, home, client, log: () => log, close };
  };
  const traced = (kind: string) => trace.filter((entry) => entry.kind === kind).length;
  return { redis, trace, traced, environment: environmentOf, simUrl: backend.url, open };
}
