import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import type { TraceEntry } from "../../src/sim/options.ts";
import { DIALECTS } from "../gateway/support/dialects/index.ts";
import { KEY, setUpGateway } from "../gateway/support/gateway-process.ts";
import { isGivenUp } from "../sim/support/given-up.ts";

/** As lines of JSON, some hundred megabytes. */
const TOKENS = 2_000_000;
const MIB = 1024 * 1024;

const memoryOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

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
      const { start } = await setUpGateway({ hostConfig, trace }, { EXCURSOR_LIMITS_STALLED_READER_MS: "1500" });
      const { url, pid } = await start();
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
