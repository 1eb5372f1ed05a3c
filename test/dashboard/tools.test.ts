import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { toolSources } from "../../src/app/dashboard/tool-report.ts";
import { loadConfig } from "../../src/app/load-config.ts";
import { openEngine } from "../../src/app/open-gateway.ts";
import { startOAuthServer } from "../mcp/support/oauth-server.ts";

const SERVER = fileURLToPath(new URL("../mcp/support/scripted-server.ts", import.meta.url));
const { signal } = new AbortController();

async function openTools({ pins, servers = {} }: { readonly pins?: object; readonly servers?: object } = {}) {
  const home = mkdtempSync(join(tmpdir(), "excursor-tools-"));
  const mcpServers = {
    srv: { command: process.execPath, args: [SERVER] },
    broken: { command: "no-such-program" },
    ...servers,
  };
  writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
  if (pins) writeFileSync(join(home, "mcp-tools.json"), JSON.stringify(pins), { mode: 0o600 });
  const loaded = loadConfig({ flags: {}, environment: { EXCURSOR_HOME: home, EXCURSOR_KEYCHAIN: "off" } });
  const opened = await openEngine(loaded, { isDemo: true, writeLog: () => {} });
  onTestFinished(async () => {
    await opened.close();
    rmSync(home, { recursive: true, force: true });
  });
  return toolSources(opened.parts, home);
}

it("lists servers with state, tools and digests, and calls a tool", async () => {
  const tools = await openTools();
  expect(tools.list().servers.map(({ state }) => state)).toEqual(["idle", "idle"]);
  await tools.connect();
  const { servers } = tools.list();
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
  const tools = await openTools({ pins: { srv: { echo: "2:another" } } });
  await tools.connect();
  const held = async () => tools.list().servers[0]?.tools.filter(({ isHeld }) => isHeld) ?? [];
  const [echo] = await held();
  expect(echo?.name).toBe("echo");
  await expect(tools.approve({ server: "srv", tool: "echo", digest: "2:another" })).rejects.toThrow("has changed");
  expect(await held()).toHaveLength(1);
  await tools.approve({ server: "srv", tool: "echo", digest: echo?.digest ?? "" });
  expect(await held()).toEqual([]);
});

describe("a sign-in", () => {
  const rowOf = (tools: Awaited<ReturnType<typeof openTools>>) =>
    tools.list().servers.find(({ name }) => name === "safe");

  async function openSafe() {
    const safe = await startOAuthServer();
    onTestFinished(() => safe.close());
    const tools = await openTools({ servers: { safe: { url: safe.url } } });
    await tools.connect();
    expect(rowOf(tools)).toMatchObject({ state: "needs sign-in", signIn: null });
    return { safe, tools };
  }

  it("is begun, completed by the browser, and the server is ready", async () => {
    const { tools } = await openSafe();
    const { page } = await tools.signIn("safe", signal);
    expect(rowOf(tools)?.signIn).toEqual({ state: "waiting", page });
    expect((await fetch(page)).status).toBe(200);
    await expect.poll(() => rowOf(tools)).toMatchObject({ state: "ready", signIn: null });
    expect(await tools.call("safe", "echo", { a: 1 }, signal)).toMatchObject({ isError: false, text: '{"a":1}' });
  });

  it("is completed by the address of the last page, and only by its own", async () => {
    const { tools } = await openSafe();
    const { page } = await tools.signIn("safe", signal);
    const last = (await fetch(page, { redirect: "manual" })).headers.get("location") ?? "";
    const other = last.replace(/state=[^&]+/, "state=another");
    expect(() => tools.finishSignIn("safe", other)).toThrow("does not belong");
    expect(() => tools.finishSignIn("srv", last)).toThrow("does not belong");
    tools.finishSignIn("safe", last);
    await expect.poll(() => rowOf(tools)?.state).toBe("ready");
  });

  it("is cancelled, and a failed one says why", async () => {
    const { safe, tools } = await openSafe();
    const { page } = await tools.signIn("safe", signal);
    tools.cancelSignIn("safe");
    expect(rowOf(tools)).toMatchObject({ state: "needs sign-in", signIn: null });
    await expect(fetch(page)).rejects.toThrow();
    safe.breakTokens(500);
    const again = await tools.signIn("safe", signal);
    await fetch(again.page);
    await expect
      .poll(() => rowOf(tools)?.signIn)
      .toMatchObject({ state: "failed", message: expect.stringContaining("safe") });
  });

  it("exists only for servers that have one", async () => {
    const tools = await openTools();
    await expect(tools.signIn("srv", signal)).rejects.toThrow("does not use a sign-in");
    await expect(tools.signIn("nothing", signal)).rejects.toThrow("nothing");
  });
});
