import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startOAuthServer } from "../mcp/support/oauth-server.ts";
import { excursor } from "./support/excursor.ts";

let home = "";
let fake: Awaited<ReturnType<typeof startOAuthServer>>;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "excursor-mcp-login-"));
  fake = await startOAuthServer();
  mkdirSync(join(home, "own"), { mode: 0o700 });
  const mcpServers = { safe: { url: fake.url }, tool: { command: "true" } };
  writeFileSync(join(home, "own", "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
});

afterEach(() => {
  fake.close();
  rmSync(home, { recursive: true, force: true });
});

/** A browser whose user says yes at once. */
function aBrowser(): string {
  const path = join(home, "browser");
  writeFileSync(path, `#!${process.execPath}\nfetch(process.argv[2]);\n`);
  chmodSync(path, 0o700);
  return path;
}

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  excursor(["mcp", ...args], {
    environment: { EXCURSOR_HOME: join(home, "own"), HOME: home, EXCURSOR_KEYCHAIN: "off", ...environment },
  });

describe("excursor mcp login", { timeout: 90_000 }, () => {
  it("opens the browser, keeps the sign-in, and the tools are there; logout forgets it", async () => {
    const before = await run(["list", "--json"]).exited;
    expect(JSON.parse(before.stdout).servers[0]).toMatchObject({
      name: "safe",
      state: "needs sign-in",
      problems: ['The MCP server "safe" requires a sign-in: excursor mcp login safe'],
    });

    const doctor = await excursor(["doctor", "--demo", "--json"], { environment: { EXCURSOR_HOME: join(home, "own") } })
      .exited;
    expect(JSON.parse(doctor.stdout)).toContainEqual(
      expect.objectContaining({
        id: "mcp/safe",
        status: "warn",
        text: 'The MCP server "safe" requires a sign-in: excursor mcp login safe',
      }),
    );

    const { code, stdout, stderr } = await run(["login", "safe"], { BROWSER: aBrowser() }).exited;
    expect([code, stdout]).toEqual([0, "Signed in to safe: 1 tools.\n"]);
    expect(stdout + stderr).not.toMatch(/access-|refresh-|secret-/);
    const path = join(home, "own", "mcp-logins.json");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8")).toMatch(/access-.*refresh-/s);

    fake.expire();
    const call = await run(["call", "safe/echo", '{"a":1}']).exited;
    expect([call.code, call.stdout]).toEqual([0, '{"a":1}\n']);

    expect(fake.renewable()).toBe(1);
    expect(await run(["logout", "safe"]).exited).toMatchObject({ stdout: "Signed out of safe.\n", stderr: "" });
    expect(fake.renewable()).toBe(0);
    expect(readFileSync(path, "utf8")).not.toMatch(/access-|refresh-|secret-/);
    expect(await run(["logout", "safe"]).exited).toMatchObject({
      code: 65,
      stderr: expect.stringContaining("There is no stored sign-in to safe."),
    });
    expect(await run(["call", "safe/echo"]).exited).toMatchObject({
      stderr: expect.stringContaining("requires a sign-in: excursor mcp login safe"),
    });
  });

  it("Ctrl-C while it waits leaves everything as it was", async () => {
    const running = run(["login", "safe", "--no-browser"]);
    await vi.waitFor(() => expect(running.output.stderr).toContain("Ctrl-C cancels"), 30_000);
    running.child.kill("SIGINT");
    const { code, stderr } = await running.exited;
    expect([code, stderr]).toEqual([130, expect.stringContaining("The sign-in was cancelled. Nothing was changed.")]);
    expect(existsSync(join(home, "own", "mcp-logins.json"))).toBe(false);
  });

  it("says so where there is nothing to sign in to", async () => {
    expect(await run(["login", "tool"]).exited).toMatchObject({
      code: 65,
      stderr: expect.stringContaining("The server tool does not use a sign-in."),
    });
    expect(await run(["login", "other"]).exited).toMatchObject({
      code: 65,
      stderr: expect.stringContaining("There is no server named other; known servers: safe, tool."),
    });
  });

  it("removing a server forgets its sign-in, too", async () => {
    await run(["login", "safe"], { BROWSER: aBrowser() }).exited;
    expect((await run(["remove", "safe"]).exited).code).toBe(0);
    expect(readFileSync(join(home, "own", "mcp-logins.json"), "utf8")).not.toMatch(/access-|refresh-/);
  });
});
