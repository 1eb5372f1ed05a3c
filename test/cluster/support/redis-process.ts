import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@redis/client";

/** Whether the machine has Redis. Without it, tests that need it are skipped. */
export const hasRedis: boolean = spawnSync("redis-server", ["--version"]).status === 0;

export interface RedisProcess {
  readonly url: string;
  readonly port: number;
  /** Sends a signal: SIGSTOP pauses, SIGCONT continues. */
  signal(name: NodeJS.Signals): void;
  /** Kills it. Nothing is stored, unless the flags say so. */
  kill(): Promise<void>;
  /** Forgets what was stored. */
  empty(): void;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
}

/**
 * Starts a Redis of its own, without persistence. `defer` gets what ends it, and checks before that no key of ours stays for
 * ever (SEC-36): so every workload of the tests is checked.
 */
export async function startRedis(
  defer: (cleanup: () => unknown) => void,
  flags: readonly string[] = [],
): Promise<RedisProcess> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "excursor-redis-"));
  let stop = await run(port, folder, flags);
  defer(async () => {
    try {
      if (stop.isAnswering() && !flags.some((flag) => /^--(?:requirepass|user)$/.test(flag))) await checkExpiry(port);
    } finally {
      await stop.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    signal: (name) => stop.signal(name),
    kill: () => stop.kill(),
    empty: () => rmSync(join(folder, "appendonlydir"), { recursive: true, force: true }),
    async restart() {
      stop = await run(port, folder, flags);
    },
  };
}

async function run(port: number, folder: string, flags: readonly string[]) {
  const child = spawn(
    "redis-server",
    ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder, ...flags],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  const exited = once(child, "exit");
  let output = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk;
      if (output.includes("Ready to accept connections")) resolve();
    });
    void exited.then(() => reject(new Error(`redis-server ended: ${output}`)));
  });
  let isPaused = false;
  const isGone = () => child.exitCode !== null || child.signalCode !== null;
  return {
    isAnswering: () => !isPaused && !isGone(),
    signal(name: NodeJS.Signals) {
      isPaused = name === "SIGSTOP";
      child.kill(name);
    },
    async kill() {
      if (isGone()) return;
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Throws if a key of the cluster has no end. */
async function checkExpiry(port: number): Promise<void> {
  const client = await createClient({ url: `redis://127.0.0.1:${port}` }).connect();
  const lasting: string[] = [];
  for await (const keys of client.scanIterator({ MATCH: "excursor:v1:*", COUNT: 1000 })) {
    const lives = await Promise.all(keys.map((key) => client.pTTL(key)));
    lasting.push(...keys.filter((_, at) => lives[at] === -1));
  }
  client.destroy();
  if (lasting.length > 0) throw new Error(`These keys stay in Redis for ever: ${lasting.slice(0, 10).join(", ")}`);
}

/** Returns a port that was free a moment ago, for programs that cannot pick one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  server.close();
  await once(server, "close");
  return port;
}
