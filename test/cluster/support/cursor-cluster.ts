import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FACE_HEALTH_PATH } from "../../../src/faces/cursor/index.ts";
import type { SimOptions, TraceEntry } from "../../../src/sim/options.ts";
import { startSim } from "../../../src/sim/server.ts";
import { KEY } from "../../gateway/support/gateway-process.ts";
import { type NodeProcess, startBalancer, startNode } from "./compose-processes.ts";
import { freePort, startRedis } from "./redis-process.ts";

/** Three gateway processes for Cursor's own clients, behind HAProxy. */
export interface CursorCluster {
  /** Of the balancer. */
  readonly url: string;
  readonly nodes: readonly NodeProcess[];
  /** What the backend saw. */
  readonly trace: readonly TraceEntry[];
}

/** The account that is signed in at the gateways. */
export const ACCOUNT = "tester";

/** Their own models `excursor/demo/…` are those of a fourth gateway, so that scripts of the simulator drive them. */
export async function startCursorCluster(
  defer: (cleanup: () => unknown) => void,
  sim: Partial<SimOptions>,
): Promise<CursorCluster> {
  const folder = mkdtempSync(join(tmpdir(), "excursor-cursor-cluster-"));
  defer(() => rmSync(folder, { recursive: true, force: true }));
  const redis = await startRedis(defer);
  const trace: TraceEntry[] = [];
  const backend = await startSim({ ...sim, trace: (entry) => trace.push(entry) });
  defer(() => backend.close());
  const start = async (name: string, settings: Readonly<Record<string, string>>) => {
    const port = String(await freePort());
    const common = { EXCURSOR_KEY: KEY, EXCURSOR_TOKEN: ACCOUNT, EXCURSOR_UPSTREAM: backend.url, EXCURSOR_PORT: port };
    const environment = { ...common, EXCURSOR_HOME: join(folder, name), ...settings };
    return startNode(name, `http://127.0.0.1:${port}`, environment, defer);
  };
  const model = await start("model", {});
  const names = ["a", "b", "c"];
  const ports = await Promise.all(names.map(() => freePort()));
  const nodes = await Promise.all(
    names.map((name, at) =>
      start(name, {
        EXCURSOR_CLUSTER_REDIS: redis.url,
        EXCURSOR_CLUSTER_NODE: name,
        EXCURSOR_CURSOR_FACE: "true",
        EXCURSOR_CURSOR_PORT: String(ports[at]),
        EXCURSOR_HOSTS: "127.0.0.1",
        EXCURSOR_OPENAI_KEY: KEY,
        EXCURSOR_OPENAI_BASE_URL: `${model.url}/v1`,
        EXCURSOR_MODELS: JSON.stringify({ "demo/*": "openai" }),
      }),
    ),
  );
  const port = await freePort();
  const config = join(folder, "haproxy.cfg");
  writeFileSync(config, balancerConfig(port, ports));
  startBalancer("haproxy", ["-db", "-f", config], defer);
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(url + FACE_HEALTH_PATH)).ok;
  while (!(await isReady().catch(() => false))) await new Promise((resolve) => setTimeout(resolve, 50));
  return { url, nodes, trace };
}

/** Both halves of a run over HTTP/1.1 have its id in a header. Each request stays with its version of HTTP. */
const balancerConfig = (port: number, targets: readonly number[]): string => {
  const backend = (name: string, more: string) => `
backend ${name}
    balance hdr(x-request-id)
    hash-type consistent
    option httpchk GET ${FACE_HEALTH_PATH}
    http-check send hdr Host 127.0.0.1
    default-server check inter 200ms fall 1 rise 1 ${more}
${targets.map((target, at) => `    server gateway-${at} 127.0.0.1:${target}`).join("\n")}
`;
  return `
defaults
    mode http
    timeout connect 2s
    timeout client 10m
    timeout server 10m
    retries 3
    retry-on conn-failure
    option redispatch
    option abortonclose

frontend clients
    bind 127.0.0.1:${port}
    use_backend http2 if { req.ver 2.0 }
    default_backend http1
${backend("http1", "")}${backend("http2", "proto h2")}`;
};
