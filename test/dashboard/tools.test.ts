import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { toolSources } from "../../src/app/dashboard/tool-report.ts";
import { loadConfig } from "../../src/app/load-config.ts";
import { openEngine } from "../../src/app/open-gateway.ts";

const SERVER = fileURLToPath(new URL("../mcp/support/scripted-server.ts", import.meta.url));
const { signal } = new AbortController();

async function openTools(pins?: object) {
  const home = mkdtempSync(join(tmpdir(), "excursor-tools-"));
  const mcpServers = { srv: { command: process.execPath, args: [SERVER] }, broken: { command: "no-such-program" } };
  writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
  if (pins) writeFileSync(join(home, "mcp-tools.json"), JSON.stringify(pins), { mode: 0o600 });
  const loaded = loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home } });
  const opened = await openEngine(loaded, { isDemo: true, writeLog: () => {} });
  onTestFinished(async () => {
    await opened.close();
    rmSync(home, { recursive: true, force: true });
  });
  return toolSources(opened.parts, home);
}

it("lists servers with state, tools and digests, and calls a tool", async () => {
  const tools = await openTools();
  expect((await tools.list(signal)).servers.map(({ state }) => state)).toEqual(["idle", "idle"]);
  await tools.connect();
  const { servers } = await tools.list(signal);
  expect(servers.map(({ name, state }) => [name, state])).toEqual([
    ["srv", "ready"],
    ["broken", "failed"],
  ]);
  expect(servers[0]?.tools[0]).toMatchObject({ name: "echo", description: "does echo", isHeld: false });
  expect(tools.find("srv", "echo").schema).toEqual({ type: "object" });
  expect(await tools.call("srv", "echo", { one: 1 }, signal)).toMatchObject({ isError: false, text: '{"one":1}' });
  await expect(tools.call("srv", "nothing", {}, signal)).rejects.toThrow("does not exist");
});

it("approves a changed tool only as it was shown (SEC-41)", async () => {
  const tools = await openTools({ srv: { echo: "2:another" } });
  await tools.connect();
  const held = async () => (await tools.list(signal)).servers[0]?.tools.filter(({ isHeld }) => isHeld) ?? [];
  const [echo] = await held();
  expect(echo?.name).toBe("echo");
  await expect(tools.approve({ server: "srv", tool: "echo", digest: "2:another" })).rejects.toThrow("has changed");
  expect(await held()).toHaveLength(1);
  await tools.approve({ server: "srv", tool: "echo", digest: echo?.digest ?? "" });
  expect(await held()).toEqual([]);
});
