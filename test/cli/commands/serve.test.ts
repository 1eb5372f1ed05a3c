import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { issueTokens } from "../../../src/sim/accounts.ts";
import { startSim } from "../../../src/sim/server.ts";
import { excursor, type RunOptions } from "../support/excursor.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-"));
});

afterEach(() => rmSync(home, { recursive: true }));

const run = (args: readonly string[], { environment, ...options }: RunOptions = {}) =>
  excursor(args, { ...options, environment: { EXCURSOR_HOME: home, ...environment } });

const KEY = "exc_key-of-this-test-0123456789";

function ask(url: string, content: string, { key = KEY, ...extra }: { key?: string; [name: string]: unknown } = {}) {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "auto", messages: [{ role: "user", content }], ...extra }),
  });
}

describe("excursor serve --demo", () => {
  it("prints `ready URL`, and only that, on stdout; next steps without the key on stderr; answers", async () => {
    const { child, firstLine, exited } = run(["serve", "--demo", "--port", "0"], { how: "npm" });
    const line = await firstLine();
    expect(line).toMatch(/^ready http:\/\/127\.0\.0\.1:\d+$/);
    const url = line.slice("ready ".length);
    const key = readFileSync(join(home, "key"), "utf8").trim();
    expect(key).toMatch(/^exc_[\w-]{43}$/);
    expect(statSync(join(home, "key")).mode & 0o777).toBe(0o600);
    expect(await (await ask(url, "@sim say hello", { key })).json()).toMatchObject({
      choices: [{ message: { content: "hello" }, finish_reason: "stop" }],
    });
    child.kill("SIGTERM");
    const { stdout, stderr } = await exited;
    expect(stdout).toBe(`${line}\n`);
    expect(stderr).toContain(`${url}/v1`);
    expect(stderr).not.toContain(key);
  });

  it("prints with --bridge where the bridge listens, and how to get its key", async () => {
    const environment = { EXCURSOR_BRIDGE_PORT: "0" };
    const { child, firstLine, exited } = run(["serve", "--demo", "--port", "0", "--bridge"], { environment });
    expect(await firstLine()).toMatch(/^ready /);
    child.kill("SIGTERM");
    const { stdout, stderr } = await exited;
    const bridgeUrl = /^ready \S+\nbridge (http:\/\/127\.0\.0\.1:\d+)\n$/.exec(stdout)?.[1] ?? "none";
    expect(stderr).toContain(bridgeUrl);
    expect(stderr).toContain("key --bridge");
  });

  it("prints one JSON line with --json, and nothing but JSON lines on stderr", async () => {
    const { child, firstLine, exited } = run(["serve", "--demo", "--port", "0", "--json", "--key", KEY]);
    const ready = JSON.parse(await firstLine()) as { url: string; port: number };
    expect(ready).toEqual({
      ready: true,
      url: `http://127.0.0.1:${ready.port}`,
      port: ready.port,
      baseUrl: `http://127.0.0.1:${ready.port}/v1`,
      uiUrl: `http://127.0.0.1:${ready.port}/ui`,
      demo: true,
      signedIn: true,
    });
    await (await ask(ready.url, "@sim say hello")).text();
    child.kill("SIGINT");
    const { code, stderr } = await exited;
    expect(code).toBe(0);
    const lines = stderr.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ msg: "request", route: "/v1/chat/completions", model: "auto", status: 200 }),
    );
    expect(readdirSync(home)).toEqual([]);
  });

  it("lets an answer finish before it exits, and leaves early at a second signal", async () => {
    for (const [isPatient, expected] of [
      [true, 0],
      [false, 130],
    ] as const) {
      const { child, firstLine, exited } = run(["serve", "--demo", "--port", "0", "--key", KEY]);
      const url = (await firstLine()).slice(6);
      const response = await ask(url, `@sim say first ;; silent ${isPatient ? 700 : 60_000} ;; say last`, {
        stream: true,
      });
      child.kill("SIGINT");
      if (!isPatient) setTimeout(() => child.kill("SIGINT"), 500);
      const text = await response.text().catch(() => "cut");
      if (isPatient) expect(text).toMatch(/last.*\[DONE\]/s);
      expect((await exited).code).toBe(expected);
    }
  });

  it("goes on at SIGHUP and SIGUSR2 without a terminal, and opens no inspector at SIGUSR1", async () => {
    const { child, firstLine, exited } = run(["serve", "--demo", "--port", "0", "--key", KEY]);
    const url = (await firstLine()).slice(6);
    const response = await ask(url, "@sim say first ;; silent 700 ;; say last", { stream: true });
    for (const signal of ["SIGHUP", "SIGUSR2", "SIGUSR1"] as const) child.kill(signal);
    expect(await response.text()).toMatch(/first.*last.*\[DONE\]/s);
    child.kill("SIGTERM");
    const { code, stderr } = await exited;
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/Debugger/);
    expect(stderr).toMatch(/"signal":"SIGHUP".*other settings need a restart/);
  });

  it.each([
    ["--key", ["--key", KEY], {}],
    ["EXCURSOR_KEY", [], { EXCURSOR_KEY: KEY }],
  ])(
    "says of a key that was given by %s where it comes from, not how to print another one",
    async (origin, flags, environment) => {
      const { child, firstLine, exited } = run(["serve", "--demo", "--port", "0", ...flags], { environment });
      await firstLine();
      child.kill("SIGTERM");
      const { stderr } = await exited;
      expect(stderr).toContain(`API key    the key from ${origin}`);
      expect(stderr).toContain("Bearer $EXCURSOR_KEY");
      expect(stderr).not.toMatch(/excursor key|-- key/);
      expect(stderr).not.toContain(KEY);
    },
  );
});

describe("warnings of Node", () => {
  it("that its SQLite is experimental is not printed, and any other is", async () => {
    const file = new URL("../../../src/cli/silence-sqlite-warning.ts", import.meta.url);
    const program = `
      import { silenceSqliteWarning } from ${JSON.stringify(file.href)};
      silenceSqliteWarning();
      process.emitWarning("SQLite is an experimental feature and might change at any time", "ExperimentalWarning");
      process.emitWarning("Something is an experimental feature", "ExperimentalWarning");
      process.emitWarning("SQLite is slow");`;
    const { stderr } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program]);
    expect(stderr).not.toContain("might change");
    expect(stderr).toContain("Something is an experimental feature");
    expect(stderr).toContain("SQLite is slow");
  });
});

describe("excursor serve", () => {
  it("asks the backend of --upstream as the account of --token; the environment does the same", async () => {
    const sim = await startSim();
    const upstream = { EXCURSOR_UPSTREAM: sim.url, EXCURSOR_TOKEN: "account-by-environment", EXCURSOR_KEY: KEY };
    for (const gateway of [
      run(["serve", "--port", "0", "--upstream", sim.url, "--token", "account-by-flag", "--key", KEY]),
      run(["serve"], { environment: { ...upstream, EXCURSOR_PORT: "0" } }),
    ]) {
      const url = (await gateway.firstLine()).slice(6);
      expect(await (await ask(url, "@sim say hello")).text()).toContain("hello");
      gateway.child.kill("SIGTERM");
      const { code, stderr } = await gateway.exited;
      expect(code).toBe(0);
      expect(stderr).not.toMatch(/account-by|say hello/);
    }
    await sim.close();
    const state = readdirSync(home).filter((name) => name.startsWith("state-"));
    expect(state.length).toBeGreaterThan(0);
    for (const name of state) expect(statSync(join(home, name)).mode & 0o077).toBe(0);
  });

  it("starts without an account on loopback: tells how to sign in, takes tokens, and knows a login as it comes", {
    timeout: 90_000,
  }, async () => {
    const sim = await startSim();
    const environment = { EXCURSOR_UPSTREAM: sim.url, EXCURSOR_KEY: KEY };
    const { child, firstLine, exited } = run(["serve", "--port", "0"], { environment });
    const url = (await firstLine()).slice("ready ".length);
    const refused = await ask(url, "@sim say hello");
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { error: { code: "not_signed_in", message: expect.stringContaining("excursor login") } },
    ]);
    const { accessToken } = issueTokens("auth0|user_x", 3600);
    expect((await ask(url, "@sim say hello", { key: `user_x::${accessToken}` })).status).toBe(200);
    expect((await run(["login", "--api-key", "some-key"], { environment }).exited).code).toBe(0);
    expect((await ask(url, "@sim say hello")).status).toBe(200);
    expect((await run(["logout"], { environment }).exited).code).toBe(0);
    expect((await ask(url, "@sim say hello")).status).toBe(401);
    child.kill("SIGTERM");
    expect((await exited).stderr).toContain("No Cursor account is signed in yet. Sign in from another terminal");
    await sim.close();
  });

  it.each([
    ["Cursor itself under another name", { driver: "cursor" }, 77],
    ["another upstream", { driver: "openai", baseURL: "http://127.0.0.1:9/v1" }, 0],
  ])("without an account and without tokens, a model of %s: exit code %s", async (_, mine, expected) => {
    writeFileSync(join(home, "config.json"), JSON.stringify({ allowTokens: false, models: { mine } }), { mode: 0o600 });
    const { child, firstLine, exited } = run(["serve", "--port", "0", "--key", KEY]);
    if (expected === 0) {
      await firstLine();
      child.kill("SIGTERM");
    }
    expect((await exited).code).toBe(expected);
  });

  it.each<[string, readonly string[], Readonly<Record<string, string>>, number, string]>([
    [
      "no account, and no tokens with requests",
      ["serve"],
      { EXCURSOR_ALLOW_TOKENS: "false" },
      77,
      "Run `excursor login` and start again. Or set `allowTokens` to true",
    ],
    [
      "no account, where others can reach it",
      ["serve", "--host", "0.0.0.0", "--port", "0"],
      {},
      77,
      "Or set `allowTokens` to true",
    ],
    ["an unknown account", ["serve", "--account", "nobody"], {}, 77, 'The account "nobody" is not signed in'],
    ["a name that is none", ["serve"], { EXCURSOR_ACCOUNT: "a b" }, 78, "EXCURSOR_ACCOUNT: expected a name"],
    ["a misspelt flag", ["serve", "--prot", "1"], {}, 2, "Did you mean --port?"],
    ["a port that is none", ["serve", "--port", "many"], {}, 2, "Expected a whole number."],
    ["a port beyond the last", ["serve", "--port", "70000"], {}, 2, "65535"],
    ["a driver that is none", ["serve", "--driver", "x"], {}, 2, "cursor, cursor-legacy"],
    ["a demo of something else", ["serve", "--demo", "--upstream", "https://x"], {}, 2, "cannot be used with"],
    [
      "an upstream in the clear",
      ["serve", "--upstream", "http://example.com"],
      {},
      78,
      "--upstream: expected an https origin",
    ],
    ["a bad variable", ["serve"], { EXCURSOR_PORT: "x" }, 78, "EXCURSOR_PORT: expected a whole number"],
    [
      "a short key, on loopback too (A7, SEC-04)",
      ["serve", "--demo", "--key", "hunter3993"],
      {},
      78,
      "openssl rand -hex 32",
    ],
    ["a monotonous key", ["serve", "--demo", "--key", "ab".repeat(40)], {}, 78, "`excursor key` then makes one"],
    ["a weak key by the environment", ["serve", "--demo"], { EXCURSOR_KEY: "x".repeat(40) }, 78, "could be guessed"],
    ["a weak key for MCP", ["mcp", "serve", "--port", "0"], { EXCURSOR_KEY: "hunter3993" }, 78, "could be guessed"],
    ["a name for an address", ["serve", "--demo", "--host", "localhost"], {}, 78, "expected an address"],
    ["an address of somebody else", ["serve", "--demo", "--host", "192.0.2.1"], {}, 78, "Cannot listen on 192.0.2.1"],
    [
      "a model that leads to an upstream without a key",
      ["serve", "--demo"],
      { EXCURSOR_MODELS: "claude-*=anthropic" },
      78,
      "models → claude-*: there is no key for anthropic",
    ],
  ])("%s: says what is wrong", async (_, args, environment, code, message) => {
    const result = await run([...args, ...(args.includes("--port") ? [] : ["--log-level", "info"])], { environment })
      .exited;
    expect([result.code, result.stderr]).toEqual([code, expect.stringContaining(message)]);
    expect(result.stdout).toBe("");
    expect(result.stderr).not.toContain("    at ");
  });

  it("a taken port exits with 75 and names it", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const { code, stderr } = await run(["serve", "--demo", "--port", String(port)]).exited;
    server.close();
    expect([code, stderr]).toEqual([75, expect.stringContaining(`Port ${port} is already in use`)]);
  });

  it("a home that others can look into exits with 77 and tells the remedy", async () => {
    chmodSync(home, 0o755);
    const { code, stderr } = await run(["serve", "--demo", "--port", "0"]).exited;
    chmodSync(home, 0o700);
    expect([code, stderr]).toEqual([77, expect.stringContaining(`chmod 700 '${home}'`)]);
  });

  it("a strong key may listen everywhere, and tokens are no keys there", async () => {
    const { firstLine, output } = run(["serve", "--demo", "--host", "0.0.0.0", "--port", "0"]);
    const url = (await firstLine()).slice(6).replace("0.0.0.0", "127.0.0.1");
    // The address that works as it is shown.
    await expect.poll(() => output.stderr).toContain(`base URL   ${url}/v1`);
    const token = `eyJ${"a".repeat(30)}.${"b".repeat(40)}.${"c".repeat(43)}`;
    expect((await ask(url, "hello", { key: token })).status).toBe(401);
    const key = readFileSync(join(home, "key"), "utf8").trim();
    expect((await ask(url, "hello", { key })).status).toBe(200);
  });

  it.each([
    ["127.0.0.1", [], "not on the public internet"],
    ["0.0.0.0", [], "does not fetch images"],
    ["0.0.0.0", ["--images", "fetch"], "not on the public internet"],
    ["127.0.0.1", ["--images", "data"], "does not fetch images"],
  ])("SEC-33: an image by its address, on %s %s: %s", async (host, args, message) => {
    const { firstLine } = run(["serve", "--demo", "--host", host, "--port", "0", ...args]);
    const url = (await firstLine()).slice(6).replace("0.0.0.0", "127.0.0.1");
    const key = readFileSync(join(home, "key"), "utf8").trim();
    const image = { type: "image_url", image_url: { url: "https://127.0.0.1/a.png" } };
    const response = await ask(url, "", { key, messages: [{ role: "user", content: [image] }] });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        error: {
          code: "image_url_forbidden",
          param: "messages[0].content[0].image_url.url",
          message: expect.stringContaining(message),
        },
      },
    ]);
  });
});

describe("variables of similar programs", () => {
  it("are named in one warning, with what is read instead", async () => {
    const environment = { PORT: "3000", CURSOR_URL: "https://x.example", CURSOR_CHECKSUM: "sum" };
    const { child, firstLine, exited } = run(["serve", "--demo", "--json", "--port", "0"], { environment });
    await firstLine();
    child.kill("SIGTERM");
    const warnings = (await exited).stderr.split("\n").filter((line) => line.includes("have no effect"));
    expect(warnings).toHaveLength(1);
    // The port was given by its flag.
    expect(warnings[0]?.match(/EXCURSOR_\w+/g)).toEqual(["EXCURSOR_UPSTREAM", "EXCURSOR_CHECKSUM"]);
  });
});

describe("the file", () => {
  it("gives what neither flags nor environment say", async () => {
    const settings = { port: 0, key: KEY, models: { mine: "auto" }, logLevel: "warn" };
    writeFileSync(join(home, "config.json"), JSON.stringify(settings), { mode: 0o600 });
    const { child, firstLine, exited } = run(["serve", "--demo"]);
    const url = (await firstLine()).slice(6);
    expect((await ask(url, "@sim say hello", { model: "mine" })).status).toBe(200);
    const models = await fetch(`${url}/v1/models/mine`, { headers: { "x-api-key": KEY } });
    expect(await models.json()).toMatchObject({ id: "auto" });
    child.kill("SIGTERM");
    expect((await exited).stderr).not.toContain('"msg":"request"');
  });
});
