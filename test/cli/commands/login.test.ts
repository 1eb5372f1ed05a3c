import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issueTokens } from "../../../src/sim/accounts.ts";
import type { SimOptions, TraceEntry } from "../../../src/sim/options.ts";
import { type Simulator, startSim } from "../../../src/sim/server.ts";
import { excursor, type RunOptions } from "../support/excursor.ts";

let home = "";
let sim: Simulator;
let trace: TraceEntry[] = [];

const startBackend = async (options: Partial<SimOptions> = {}) => {
  await sim?.close();
  trace = [];
  sim = await startSim({ trace: (entry) => trace.push(entry), ...options });
};

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "excursor-login-"));
  await startBackend();
});

afterEach(async () => {
  await sim.close();
  rmSync(home, { recursive: true });
});

const run = (args: readonly string[], { environment, ...options }: RunOptions = {}) =>
  excursor(args, {
    ...options,
    environment: { EXCURSOR_HOME: join(home, "own"), HOME: home, EXCURSOR_UPSTREAM: sim.url, ...environment },
  });

const polls = () => trace.filter(({ message }) => JSON.stringify(message).includes("/auth/poll")).length;
const accounts = () =>
  (JSON.parse(readFileSync(join(home, "own", "accounts.json"), "utf8")) as { accounts: Record<string, unknown> })
    .accounts;

/** A browser whose user is signed in already: opening the page is all there is to do. */
function aBrowser(): string {
  const path = join(home, "browser");
  writeFileSync(path, `#!${process.execPath}\nfetch(process.argv[2]);\n`);
  chmodSync(path, 0o700);
  return path;
}

describe("excursor login", { timeout: 90_000 }, () => {
  it("opens the browser, waits for it, and keeps the login for its owner alone; whoami and logout know it", async () => {
    const { code, stdout, stderr } = await run(["login"], { environment: { BROWSER: aBrowser() } }).exited;
    const path = join(home, "own", "accounts.json");
    expect([code, stdout]).toEqual([
      0,
      `Signed in as user_simulated@simulated.invalid (pro). The login is stored in ${path}.\n`,
    ]);
    expect(stderr).toContain(`${sim.url}/loginDeepControl?challenge=`);
    expect(stderr).not.toMatch(/verifier|eyJ/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(home, "own")).mode & 0o777).toBe(0o700);

    const whoami = await run(["whoami"]).exited;
    expect(whoami.stdout).toMatch(/^email {5}user_simulated@simulated\.invalid\nplan {6}pro\nprivacy {3}on\n/);
    expect(whoami.stdout).toMatch(/token {5}valid for (?:59|60) more minutes\n/);
    expect(whoami.stdout).toMatch(/quota {5}█{5}░{15} 25 % used, \$15\.00 of \$20\.00 left until \d{4}-\d\d-01\n/);
    expect(whoami.stdout).toMatch(/\n {10}10 % by auto, 15 % by models of your choice\n/);
    const known = JSON.parse((await run(["whoami", "--json"]).exited).stdout) as Record<string, unknown>;
    expect(known).toMatchObject({
      plan: "pro",
      privacy: "on",
      accounts: ["default"],
      quota: { percentUsed: 25, autoPercentUsed: 10, apiPercentUsed: 15, remaining: 1500, isInSlowPool: false },
    });

    const logout = await run(["logout"]).exited;
    expect([logout.code, logout.stdout]).toEqual([0, "Signed out: default.\n"]);
    expect(readFileSync(path, "utf8") + existsSync(`${path}.previous`)).not.toMatch(/eyJ|true/);
    for (const command of ["whoami", "logout"]) {
      const after = await run([command]).exited;
      expect([after.code, after.stderr]).toEqual([77, expect.stringContaining("No Cursor account is signed in.")]);
    }
  });

  it("works without a browser here: the address is printed, also for scripts, and approved elsewhere", async () => {
    const login = run(["login", "--json", "--account", "work", "--no-browser"]);
    const { url } = JSON.parse(await login.firstLine()) as { url: string };
    while (polls() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await fetch(url);
    const { code, stdout } = await login.exited;
    expect(code).toBe(0);
    expect(JSON.parse(stdout.split("\n")[1] ?? "")).toEqual({
      account: "work",
      email: "user_simulated@simulated.invalid",
      plan: "pro",
      kept: "file",
      renews: true,
    });
    expect(polls()).toBeGreaterThan(1);
    expect(Object.keys(accounts())).toEqual(["work"]);
  });

  it("logs its calls to the backend at level debug, and no secret of them", async () => {
    const environment = { BROWSER: aBrowser(), EXCURSOR_LOG_LEVEL: "debug" };
    const { code, stderr } = await run(["login"], { environment }).exited;
    expect(code).toBe(0);
    const calls = [...stderr.matchAll(/^\{.*"upstream call"\}$/gm)].map(([line]) => JSON.parse(line));
    expect(calls).toContainEqual(expect.objectContaining({ level: "debug", path: "/auth/poll", status: 200 }));
    expect(stderr).not.toMatch(/verifier|eyJ/);
  });

  it.skipIf(spawnSync("which", ["script"]).status !== 0)("shows a QR code on a terminal", async () => {
    const terminal = spawn(
      "script",
      ["-qec", `'${process.execPath}' bin/excursor.js login --no-browser`, "/dev/null"],
      {
        stdio: ["pipe", "pipe", "ignore"],
        env: { ...process.env, EXCURSOR_HOME: join(home, "own"), EXCURSOR_KEYCHAIN: "off", EXCURSOR_UPSTREAM: sim.url },
      },
    );
    let shown = "";
    for await (const chunk of terminal.stdout.setEncoding("utf8")) {
      shown += chunk;
      if (shown.includes("Ctrl-C cancels")) break;
    }
    terminal.stdin.write("\u0003");
    terminal.kill();
    expect(shown).toMatch(/(?:^[█▀▄ ]{40,}\r?\n){20,}/mu);
  });

  it("is cancelled by Ctrl-C, and then nothing was changed", async () => {
    const login = run(["login", "--json"]);
    await login.firstLine();
    login.child.kill("SIGINT");
    const { code, stderr } = await login.exited;
    expect([code, stderr]).toEqual([130, expect.stringContaining("Nothing was changed")]);
    expect(existsSync(join(home, "own", "accounts.json"))).toBe(false);
  });

  it("is cancelled by Ctrl-C also while the backend does not answer", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const login = run(["login", "--api-key", "k"], { environment: { EXCURSOR_UPSTREAM: `http://127.0.0.1:${port}` } });
    const [socket] = (await once(silent, "connection")) as [Socket];
    socket.on("error", () => {});
    const since = Date.now();
    login.child.kill("SIGINT");
    const { code, stderr } = await login.exited;
    silent.close();
    expect([code, stderr]).toEqual([130, expect.stringContaining("Nothing was changed")]);
    expect(Date.now() - since).toBeLessThan(15_000);
  });

  it("is asked about in vain where its file is damaged: that is said once", async () => {
    mkdirSync(join(home, "own"), { mode: 0o700 });
    writeFileSync(join(home, "own", "accounts.json"), '{"version":1,', { mode: 0o600 });
    const { code, stderr } = await run(["whoami"]).exited;
    expect([code, stderr.match(/is damaged/g)]).toEqual([78, ["is damaged"]]);
  });

  it("takes an API key, from the flag or from stdin, and keeps it to renew with", async () => {
    expect((await run(["login", "--api-key", "key-of-flag", "--account", "a"]).exited).code).toBe(0);
    expect((await run(["login", "--api-key", "--account", "b"], { input: "key-of-stdin\n" }).exited).code).toBe(0);
    expect(accounts()).toMatchObject({
      a: { refresh: expect.stringMatching(/^eyJ.*\|key-of-flag$/) },
      b: { refresh: expect.stringMatching(/^eyJ.*\|key-of-stdin$/) },
    });
  });

  it("takes what other plugins keep as `refresh|apiKey`", async () => {
    const { refreshToken } = issueTokens("auth0|user_of-plugin", 3600);
    const { code, stdout } = await run(["login", "--seed"], { input: `${refreshToken}|key-of-user` }).exited;
    expect([code, stdout]).toEqual([0, expect.stringContaining("user_of-plugin@simulated.invalid")]);
    expect(accounts()).toMatchObject({ default: { refresh: expect.stringMatching(/\|key-of-user$/) } });
  });

  it.each([
    ["user_x::JWT", (jwt: string) => `user_x::${jwt}`],
    ["user_x%3A%3AJWT", (jwt: string) => `user_x%3A%3A${jwt}`],
    ["a short signature", (jwt: string) => `user_x::${jwt.replace(/[^.]+$/, "sig")}`],
    ["the whole cookie", (jwt: string) => `WorkosCursorSessionToken=user_x%3A%3A${jwt}; Path=/`],
  ])("makes a login that can be renewed from a web session: %s", async (_, cookieOf) => {
    const { accessToken } = issueTokens("auth0|user_of-web", 3600);
    const { code, stdout } = await run(["login", "--cookie", "--json"], { input: cookieOf(accessToken) }).exited;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ email: "user_of-web@simulated.invalid", renews: true });
  });

  it("imports the login of Cursor's command line", async () => {
    const tokens = issueTokens("auth0|user_of-cli", 3600);
    mkdirSync(join(home, ".config", "cursor"), { recursive: true });
    writeFileSync(join(home, ".config", "cursor", "auth.json"), JSON.stringify(tokens), { mode: 0o600 });
    const { code, stdout } = await run(["login", "--from", "cli"]).exited;
    expect([code, stdout]).toEqual([0, expect.stringContaining("user_of-cli@simulated.invalid")]);
    expect(JSON.parse(readFileSync(join(home, ".config", "cursor", "auth.json"), "utf8"))).toEqual(tokens);
  });

  it.each<[string, readonly string[], RunOptions, number, string]>([
    ["a refused API key", ["--api-key"], { input: "invalid-key" }, 77, "Unauthorized"],
    ["no API key", ["--api-key"], { input: " \n" }, 65, "No API key was given."],
    ["a cookie that is none", ["--cookie"], { input: "garbage" }, 65, "not the session cookie of cursor.com"],
    ["a token that no header can carry", ["--seed"], { input: "se\u00e9d" }, 77, "contains invalid characters"],
    ["nothing to import", ["--from", "ide"], {}, 77, "No login was found in "],
    ["a name that is none", ["--account", "../x"], {}, 65, "The name of an account must have"],
    ["two ways at once", ["--from", "ide", "--cookie", "x"], {}, 2, "cannot be used with"],
  ])("refuses %s, in one sentence, and keeps nothing", async (_, args, options, expected, sentence) => {
    const { code, stdout, stderr } = await run(["login", ...args], options).exited;
    expect([code, stdout, stderr]).toEqual([expected, "", expect.stringContaining(sentence)]);
    expect(stderr).not.toMatch(/ {2}at |invalid-key|garbage/);
    expect(existsSync(join(home, "own", "accounts.json"))).toBe(false);
  });

  it("says when nobody answers", async () => {
    const { url } = sim;
    await sim.close();
    const { code, stderr } = await run(["login", "--api-key", "key"], { environment: { EXCURSOR_UPSTREAM: url } })
      .exited;
    expect(code).toBe(69);
    expect(stderr).toContain("refuses connections");
    await startBackend();
  });
});
