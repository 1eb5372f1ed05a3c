import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createHub } from "../../src/mcp/hub.ts";
import { type BenchResult, medianRatio, ROUNDS } from "../harness/measure.ts";

const MIB = 1024 * 1024;
const CALLS = 1000;
const SERVERS = 50;
/** How long processes may need to end after a kill -9: TERM, two seconds, KILL. */
const GRACE_MS = 5000;

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/**
 * Measures a tool call through the hub against one by the SDK itself, the memory of idle servers, and what a kill -9
 * leaves behind.
 */
export async function measureHub(): Promise<BenchResult[]> {
  return [await measureCalls(), ...(await measureIdle())];
}

async function measureCalls(): Promise<BenchResult> {
  const [command, args] = [process.execPath, [here("hub-server.ts")]];
  const client = new Client({ name: "bench", version: "1" });
  await client.connect(new StdioClientTransport({ command, args }));
  const shared = { origin: "bench", isDisabled: false, protocol: undefined, folder: undefined, env: {} };
  const hub = createHub({
    servers: [{ ...shared, type: "stdio", name: "echo", command, args }],
    environment: process.env,
  });
  await hub.connect();
  const catalogue = hub.catalogueFor({ id: "owner", token: undefined });
  const { signal } = new AbortController();
  const works = {
    direct: () => client.callTool({ name: "echo", arguments: { text: "hi" } }),
    hub: () => hub.call(catalogue, "echo__echo", { text: "hi" }, { signal }),
  };
  const times: Record<keyof typeof works, number[]> = { direct: [], hub: [] };
  for (let round = -1; round < ROUNDS; round++) {
    const names = Object.keys(works) as (keyof typeof works)[];
    for (const name of round % 2 === 0 ? names : names.reverse()) {
      const start = performance.now();
      for (let call = 0; call < CALLS; call++) await works[name]();
      // The first round warms up the compiler.
      if (round >= 0) times[name].push(performance.now() - start);
    }
  }
  await client.close();
  await hub.close();
  return { name: "hub: 1,000 calls on stdio / by the SDK", value: medianRatio(times.hub, times.direct), bound: 1.3 };
}

async function measureIdle(): Promise<BenchResult[]> {
  const none = await startIdle(0);
  const many = await startIdle(SERVERS);
  const value = (many.rss - none.rss) / SERVERS / MIB;
  none.child.kill("SIGKILL");
  const groups = childrenOf(many.child.pid);
  many.child.kill("SIGKILL");
  await sleep(GRACE_MS);
  const left = groups.filter(hasMembers).length;
  return [
    { name: `hub: one of ${SERVERS} idle servers, our RSS`, value, unit: "MiB", bound: 10 },
    { name: `hub: of ${groups.length} groups left after kill -9`, value: left, unit: "", bound: 0 },
  ];
}

async function startIdle(count: number) {
  const child = spawn(process.execPath, ["--expose-gc", here("hub-idle.ts"), String(count)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  const { rss } = JSON.parse(line) as { rss: number };
  return { child, rss };
}

const childrenOf = (pid = 0): readonly number[] =>
  spawnSync("ps", ["-o", "pid=", "--ppid", String(pid)], { encoding: "utf8" })
    .stdout.trim()
    .split(/\s+/)
    .map(Number);

function hasMembers(group: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-g", String(group)], { encoding: "utf8" });
  return stdout.split("\n").some((state) => state !== "" && !state.startsWith("Z"));
}
