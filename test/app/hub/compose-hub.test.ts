import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { composeHub } from "../../../src/app/hub/compose-hub.ts";
import { createLog } from "../../../src/observe/log.ts";
import { createRedactor } from "../../../src/observe/redactor.ts";

it("a change of the file while the servers are opened is not missed", async () => {
  const home = mkdtempSync(join(tmpdir(), "excursor-compose-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const write = (...names: string[]) => {
    const mcpServers = Object.fromEntries(names.map((name) => [name, { command: "true" }]));
    writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
  };
  write("first");
  const composing = composeHub({
    home,
    log: createLog({ level: "silent", redactor: createRedactor(), write: () => {}, isPretty: false }),
    onSecret: () => {},
    keyName: () => undefined,
    keychain: "off",
  });
  // It has read the file by now, and loads what it needs.
  write("first", "second");
  const hub = await composing;
  onTestFinished(() => hub.close());
  await vi.waitFor(() => expect(hub.current?.connections.map(({ name }) => name)).toEqual(["first", "second"]), 10_000);
});
