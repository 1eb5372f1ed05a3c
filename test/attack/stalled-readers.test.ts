import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { SimOptions, TraceEntry } from "../../src/sim/options.ts";
import { startSim } from "../../src/sim/server.ts";
import { DIALECTS } from "../gateway/support/dialects/index.ts";
import { KEY } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";

/** As lines of JSON, some hundred megabytes. */
const TOKENS = 2_000_000;
const MIB = 1024 * 1024;

const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

/** Starts the gateway as a process, so that its memory can be measured. */
async function startGateway(options: Partial<SimOptions>) {
  const sim = await startSim(options);
  const home = mkdtempSync(join(tmpdir(), "excursor-stalled-"));
  const child = spawn(process.execPath, [join(import.meta.dirname, "support/stalling-gateway.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      EXCURSOR_HOME: home,
      EXCURSOR_KEY: KEY,
      EXCURSOR_TOKEN: "tester",
      EXCURSOR_UPSTREAM: sim.url,
      EXCURSOR_LOG_LEVEL: "silent",
    },
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
    await sim.close();
    rmSync(home, { recursive: true, force: true });
  });
  const [url] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
  return { url: url.trim(), pid: child.pid ?? 0 };
}

// One dialect is enough over HTTP/1.1: what differs there is below the faces.
const CASES = [
  ...DIALECTS.map((dialect) => ({ hostConfig: "h2" as const, dialect })),
  ...DIALECTS.slice(-1).map((dialect) => ({ hostConfig: "h1" as const, dialect })),
];

describe.runIf(process.platform === "linux")("a client that stops reading", () => {
  it.each(CASES)(
    "costs little memory, stops the backend, and is disconnected: $dialect.name, backend over $hostConfig (REL-04)",
    { timeout: 60_000 },
    async ({ hostConfig, dialect }) => {
      let tokens = 0;
      let isOver = false;
      const trace = (entry: TraceEntry) => {
        if (entry.kind === "text_delta") tokens++;
        if (isGivenUp(entry)) isOver = true;
      };
      const { url, pid } = await startGateway({ hostConfig, trace });
      const question = { messages: [{ type: "user", text: `@sim tokens ${TOKENS} 0` }] } as const;
      const body = JSON.stringify(dialect.body(question, true));
      const headers = Object.entries({ ...dialect.headers(KEY), "content-type": "application/json" });
      const { port, host } = new URL(url);
      const before = memoryOf(pid);
      const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
      socket.write(
        [
          `POST ${dialect.path(question, true)} HTTP/1.1`,
          `Host: ${host}`,
          ...headers.map(([name, value]) => `${name}: ${value}`),
          `content-length: ${Buffer.byteLength(body)}`,
          "",
          body,
        ].join("\r\n"),
      );
      const first = await new Promise((resolve) => socket.once("data", (bytes) => resolve(String(bytes).slice(0, 15))));
      expect(first).toBe("HTTP/1.1 200 OK");
      socket.pause();
      await expect.poll(() => isOver, { timeout: 40_000 }).toBe(true);
      expect(tokens).toBeLessThan(TOKENS / 4);
      expect(memoryOf(pid) - before).toBeLessThan(96 * MIB);
      socket.destroy();
    },
  );
});
