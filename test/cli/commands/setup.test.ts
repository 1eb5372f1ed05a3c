import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createSimulator } from "../../../src/api/simulator.ts";
import { excursor } from "../support/excursor.ts";
import { HAS_TMUX, openTerminal } from "../support/terminal.ts";

const MAIN = fileURLToPath(new URL("../../../bin/excursor.js", import.meta.url));

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The home of a user who has Claude Code and nothing else. */
async function setUp() {
  const user = mkdtempSync(join(tmpdir(), "excursor-user-"));
  onTestFinished(() => rmSync(user, { recursive: true, force: true }));
  mkdirSync(join(user, ".claude"));
  writeFileSync(join(user, ".claude/settings.json"), '{ "theme": "dark" }\n');
  // A system without services.
  mkdirSync(join(user, "bin"));
  const systemctl = "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n";
  writeFileSync(join(user, "bin/systemctl"), systemctl, { mode: 0o755 });
  const port = await freePort();
  const environment = {
    HOME: user,
    PATH: `${join(user, "bin")}:${dirname(process.execPath)}:/usr/bin:/bin`,
    EXCURSOR_PORT: String(port),
    EXCURSOR_KEYCHAIN: "off",
  };
  const files = () => readdirSync(user, { recursive: true, encoding: "utf8" }).sort();
  return {
    user,
    environment,
    files,
    run: (...args: string[]) => excursor(args, { environment }).exited,
    claude: () => readFileSync(join(user, ".claude/settings.json"), "utf8"),
    url: `http://127.0.0.1:${port}`,
  };
}

describe("excursor setup, without a terminal", () => {
  it("asks nothing: the bare command prints help, and the setup wants --yes", async () => {
    const { run, files } = await setUp();
    const before = files();
    expect((await run()).stderr).toContain("Usage: excursor");
    expect(await run("setup")).toMatchObject({ code: 78, stderr: expect.stringContaining("--yes") });
    expect(await run("--demo")).toMatchObject({ code: 78, stderr: expect.stringContaining("Use --yes") });
    expect(await run("setup", "--yes")).toMatchObject({ code: 77, stderr: expect.stringContaining("--demo") });
    expect(files().filter((name) => !before.includes(name) && !name.startsWith(".config"))).toEqual([]);
  }, 60_000);

  it("does every step with --yes, and reset undoes them", async () => {
    const { run, files, claude, url } = await setUp();
    const [before, config] = [files(), claude()];
    const setup = await run("setup", "--yes", "--demo", "--no-service");
    expect(setup.stderr).toContain("Hello from the simulator.");
    expect(setup.stderr).toMatch(
      /Done\. .* serve --demo` starts it again\.\nStill connected to .*: claude-code\. .*\n$/,
    );
    expect(setup.code).toBe(0);
    expect(claude()).toContain(url);

    const listed = await run("reset", "--dry-run");
    expect(listed.stdout).toMatch(/disconnect claude-code: restore .*settings\.json\n.*delete .*connections/s);
    expect(claude()).toContain(url);
    expect(await run("reset")).toMatchObject({ code: 78, stderr: expect.stringContaining("--yes") });
    expect(claude()).toContain(url);
    expect(await run("reset", "--yes")).toMatchObject({ code: 0 });
    expect(claude()).toBe(config);
    expect(files()).toEqual(before);
    expect(await run("reset", "--yes")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^There is nothing to undo\.\nThis is left to you:\n.*npm uninstall -g excursor\n$/,
      ),
    });
  }, 120_000);

  it("takes its flags without its name, and leaves steps out", async () => {
    const { run, claude } = await setUp();
    const setup = await run("-y", "--demo", "--no-answer", "--no-connect", "--no-service", "--no-ui");
    expect(setup.code).toBe(0);
    expect(setup.stderr).toMatch(/Done\./);
    expect(setup.stderr).not.toMatch(/Hello from the simulator|Clients|service/);
    expect(claude()).toBe('{ "theme": "dark" }\n');
  }, 60_000);

  it("connects many clients", async () => {
    const { run, user } = await setUp();
    for (const folder of [".codex", ".continue", ".gemini", ".qwen"]) mkdirSync(join(user, folder));
    for (const name of ["opencode", "zed", "aider", "code", "goose", "crush"]) {
      writeFileSync(join(user, "bin", name), "#!/bin/sh\n", { mode: 0o755 });
    }
    const setup = await run("setup", "--yes", "--demo", "--no-service");
    expect(setup.code).toBe(0);
    expect(setup.stdout.match(/ is connected\.$/gm)).toHaveLength(11);
    expect(setup.stderr).not.toContain("Warning");
  }, 120_000);

  it("does not claim a gateway if the service cannot be installed", async () => {
    const { run, files } = await setUp();
    const setup = await run("setup", "--yes", "--demo", "--no-connect");
    expect(setup.code).toBe(69);
    expect(setup.stderr).toMatch(/No medium found.*Done\. .* serve --demo` starts it again\.\n$/s);
    expect(files().filter((name) => name.includes("systemd"))).toEqual([]);
  }, 60_000);

  it("says that a service cannot start beside a running gateway", async () => {
    const { run, environment } = await setUp();
    const gateway = excursor(["serve", "--demo"], { environment });
    await gateway.firstLine();
    const setup = await run("setup", "--yes", "--demo", "--no-connect");
    expect(setup).toMatchObject({ code: 75, stderr: expect.stringContaining("while another gateway runs") });
    gateway.child.kill("SIGTERM");
    await gateway.exited;
  }, 60_000);

  it("reset keeps changes of the user's own, and never deletes a folder of others", async () => {
    const { run, user, claude, environment } = await setUp();
    await run("setup", "--yes", "--demo", "--no-service");
    const file = join(user, ".claude/settings.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(claude()), mine: true }));
    expect(await run("reset", "--yes")).toMatchObject({ code: 0 });
    expect(existsSync(join(user, ".config/excursor"))).toBe(false);
    expect(JSON.parse(claude())).toEqual({ theme: "dark", mine: true });
    const wide = await excursor(["reset", "--yes"], { environment: { ...environment, EXCURSOR_HOME: user } }).exited;
    expect(wide).toMatchObject({ code: 78, stderr: expect.stringContaining("more than its files") });
    expect(existsSync(file)).toBe(true);
  }, 120_000);

  it("says that a port is taken by another program", async () => {
    const { environment } = await setUp();
    const server = createServer((_request, response) => response.writeHead(404).end("other")).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const port = String((server.address() as AddressInfo).port);
    const taken = await excursor(["setup", "--yes", "--demo"], { environment: { ...environment, EXCURSOR_PORT: port } })
      .exited;
    expect(taken.code).not.toBe(0);
    expect(taken.stderr).toMatch(new RegExp(`Port ${port} is already in use`));
  }, 60_000);
});

describe.skipIf(!HAS_TMUX)("excursor, on a terminal", () => {
  it("leads from the demo to a connected client, and Ctrl-C stops it", async () => {
    const { environment, claude, url } = await setUp();
    const terminal = openTerminal([process.execPath, MAIN], environment);
    await terminal.sees(/Choose 1 or 2 \[1\]:/);
    terminal.press("Enter");
    await terminal.sees(/first answer in \d+ ms: "Hello from the simulator\."/);
    await terminal.sees(/simulated answers/);
    await terminal.sees(/Connect Claude Code\? .*settings\.json \[y\/N\]/);
    terminal.type("y");
    terminal.press("Enter");
    await terminal.sees(/Claude Code is connected/);
    expect(claude()).toContain(url);
    await terminal.sees(/in demo mode\)\? \[y\/N\]/);
    terminal.type("y");
    terminal.press("Enter");
    // It cannot be had here, so the gateway runs in the terminal again.
    await terminal.sees(/No medium found/);
    await terminal.sees(/Open the dashboard\? \[Y\/n\]/);
    terminal.type("n");
    terminal.press("Enter");
    await terminal.sees(/Ctrl-C stops it/);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    terminal.press("C-c");
    await terminal.sees(/Still connected to .*: claude-code\. To undo it: .* disconnect claude-code/);
    await terminal.sees(/exit 69/);
  }, 120_000);

  it("signs in to an account, and asks it for the first answer", async () => {
    const { environment, user } = await setUp();
    const simulator = await createSimulator({ script: "@sim say from the account" }).start();
    onTestFinished(() => simulator.stop());
    // Opening the simulator's page signs in.
    const browser = join(user, "browser");
    const open = `fetch(process.argv[2]).catch(() => {})`;
    writeFileSync(browser, `#!${process.execPath}\n${open}\n`, { mode: 0o755 });
    const terminal = openTerminal([process.execPath, MAIN], {
      ...environment,
      BROWSER: browser,
      EXCURSOR_UPSTREAM: simulator.url,
    });
    await terminal.sees(/Choose 1 or 2 \[1\]:/);
    terminal.type("3");
    terminal.press("Enter");
    terminal.type("2");
    terminal.press("Enter");
    await terminal.sees(/Signed in as/);
    await terminal.sees(/Ask your account one short question/);
    terminal.press("Enter");
    await terminal.sees(/first answer in \d+ ms: "from the account"/);
    await terminal.sees(/Connect Claude Code\?/);
    terminal.press("C-d");
    await terminal.sees(/exit 130/);
  }, 120_000);

  it("can be cancelled at every question, and says how to undo", async () => {
    const { environment } = await setUp();
    const terminal = openTerminal([process.execPath, MAIN, "--demo"], environment);
    await terminal.sees(/Connect Claude Code\?/);
    terminal.press("C-c");
    const shown = await terminal.sees(/exit 130/);
    expect(shown).toContain("`excursor reset` undoes it.");
  }, 120_000);
});
