import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { composeGateway } from "../../src/app/compose-gateway.ts";
import { loadConfig } from "../../src/app/load-config.ts";
import { Secret } from "../../src/core/secret.ts";
import { createFixedAccess } from "../../src/credentials/fixed-access.ts";
import { createLog } from "../../src/observe/log.ts";
import { createRedactor } from "../../src/observe/redactor.ts";
import { isAlive, untilGone } from "../process/support/alive.ts";

/** An MCP server that never answers: it writes its process id into a file. */
const SERVER = "require('fs').writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1000)";

it("ends the MCP servers that it has started if a later step fails", async () => {
  const home = mkdtempSync(join(tmpdir(), "excursor-compose-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const pidFile = join(home, "pid");
  const mcpServers = { srv: { command: process.execPath, args: ["-e", SERVER, pidFile] } };
  writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
  const { values } = loadConfig({ flags: { tools: "hub" }, environment: { EXCURSOR_HOME: home } });
  const config = Object.defineProperty({ ...values }, "thinking", {
    get: () => {
      // Drivers read their settings before the servers are started.
      if (!existsSync(pidFile)) return values.thinking;
      expect(isAlive(Number(readFileSync(pidFile, "utf8")))).toBe(true);
      throw new Error("a later step");
    },
  });
  const composing = composeGateway({
    config,
    home,
    log: createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false }),
    access: createFixedAccess(new Secret("demo")),
    onSecret: () => {},
    secretFor: (purpose) => new Secret(purpose),
    keyName: () => undefined,
    isDemo: true,
  });
  await expect(composing).rejects.toThrow("a later step");
  expect(existsSync(pidFile)).toBe(true);
  await untilGone(Number(readFileSync(pidFile, "utf8")));
});
