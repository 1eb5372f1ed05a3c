import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { CLIENTS_FOLDER } from "../../scripts/install-clients.ts";
import { issueTokens } from "../../src/sim/accounts.ts";
import { startSim } from "../../src/sim/server.ts";
import { type Desk, homeOf, setUpDesk, startCli } from "./support/run-cli.ts";

/** The package as it is installed: built, and without its sources. */
let installed = "";

beforeAll(() => {
  installed = mkdtempSync(join(tmpdir(), "excursor-package-"));
  const built = spawnSync(process.execPath, ["scripts/build.ts"], { encoding: "utf8" });
  if (built.status !== 0) throw new Error(built.stderr);
  for (const name of ["bin", "dist", "package.json"]) cpSync(name, join(installed, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(installed, "node_modules"));
}, 300_000);

afterAll(() => rmSync(installed, { recursive: true, force: true }));

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const FLAGS = {
  OPENCODE_DISABLE_MODELS_FETCH: "1",
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
  OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
} as const;

async function setUp() {
  const sim = await startSim();
  cleanups.push(() => sim.close());
  const desk = setUpDesk();
  const settings = {
    model: "cursor/composer-2.5",
    small_model: "cursor/composer-2.5",
    share: "disabled",
    autoupdate: false,
    permission: { "*": "allow" },
    plugin: [`file://${installed}`],
  };
  writeFileSync(join(desk.folder, "opencode.json"), JSON.stringify(settings));
  const environment = {
    ...FLAGS,
    // Everybody who uses the plugin has OpenCode there, and it is an agent to the gateway.
    PATH: [dirname(process.execPath), join(CLIENTS_FOLDER, "node_modules/.bin"), process.env["PATH"]].join(delimiter),
    EXCURSOR_HOME: join(desk.home, "excursor"),
    EXCURSOR_UPSTREAM: sim.url,
    EXCURSOR_KEYCHAIN: "off",
  };
  const opencode = (...args: string[]) => startCli("opencode", args, desk, environment);
  return { desk, opencode, environment };
}

/** The backend answers in this process, so that nothing here may wait for it in the way of the other. */
const logIn = (desk: Desk, environment: Readonly<Record<string, string>>): Promise<unknown> =>
  runExcursor(["login", "--api-key"], desk, environment);

async function runExcursor(
  args: readonly string[],
  { home }: Desk,
  environment: Readonly<Record<string, string>>,
): Promise<unknown> {
  const child = spawn(process.execPath, [join(installed, "bin", "excursor.js"), ...args], {
    stdio: ["pipe", "ignore", "inherit"],
    env: { HOME: home, ...environment },
  });
  child.stdin.end("some-key");
  return (await once(child, "exit"))[0];
}

const accountsOf = ({ home }: Desk) =>
  JSON.parse(readFileSync(join(home, "excursor", "accounts.json"), "utf8")) as { accounts: Record<string, unknown> };

const authOf = ({ home }: Desk): unknown =>
  JSON.parse(readFileSync(join(home, "data", "opencode", "auth.json"), "utf8"));

/** OpenCode as a server, which its own windows talk to. */
async function startServer({ opencode }: Awaited<ReturnType<typeof setUp>>) {
  const { child, outcome } = opencode("serve", "--port", "0", "--hostname", "127.0.0.1");
  cleanups.push(() => {
    child.kill("SIGTERM");
    return outcome;
  });
  let text = "";
  const url = await new Promise<string>((found, fail) => {
    const onData = (chunk: string) => {
      text += chunk;
      const at = /http:\/\/127\.0\.0\.1:\d+/.exec(text)?.[0];
      if (at) found(at);
    };
    child.stdout?.on("data", onData);
    child.stderr?.on("data", onData);
    child.once("exit", () => fail(new Error(text)));
  });
  return async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response.json();
  };
}

describe("the plugin, in OpenCode itself", { timeout: 300_000 }, () => {
  it("gives the models of the account and answers with them, through a gateway that ends with it", async () => {
    const { desk, opencode, environment } = await setUp();
    expect(await logIn(desk, environment)).toBe(0);
    const { stdout } = await opencode("models", "cursor").outcome;
    expect(stdout.split("\n")).toEqual(
      expect.arrayContaining(["cursor/auto", "cursor/composer-2.5", "cursor/gpt-5.5"]),
    );
    expect(stdout).not.toContain("acp:");
    const steps = '@sim call bash {"command":"echo hi","description":"d"} ;; say it said {{result}}';
    const { events } = await opencode("run", "--format", "json", "--title", "t", steps).outcome;
    const texts = events.flatMap((event) =>
      event["type"] === "text" ? [(event["part"] as { text: string }).text.trim()] : [],
    );
    expect(texts).toEqual(["it said hi"]);
    // It hears of the end of OpenCode by the end of its input, and then puts its things away.
    const left = () => spawnSync("ps", ["-eo", "args"], { encoding: "utf8" }).stdout.split("\n");
    const gateway = join(installed, "bin", "excursor.js");
    await vi.waitUntil(() => !left().some((args) => args.includes(gateway)), { timeout: 60_000, interval: 200 });
  });

  it("signs in by the browser, and OpenCode keeps no secret of the account", async () => {
    const stage = await setUp();
    const call = await startServer(stage);
    const { url } = (await call("/provider/cursor/oauth/authorize", { method: 0 })) as { url: string };
    expect(url).toContain("/loginDeepControl?challenge=");
    const done = call("/provider/cursor/oauth/callback", { method: 0 });
    await fetch(url);
    expect(await done).toBe(true);
    expect(Object.keys(accountsOf(stage.desk).accounts)).toEqual(["default"]);
    expect(authOf(stage.desk)).toEqual({ cursor: { type: "api", key: "kept-by-excursor" } });
  });

  it.skipIf(!hasTerminal)("signs in by an API key that is asked for once and hidden, and signs out again", async () => {
    const stage = await setUp();
    const key = "key_that-nobody-may-see";
    const screen = await onTerminal(stage, ["auth", "login", "-p", "cursor", "-m", "Cursor API key"], "API key", key);
    // The mark of a question that is open.
    expect(screen.split("◆")).toHaveLength(2);
    expect(screen).not.toContain(key);
    expect(Object.keys(accountsOf(stage.desk).accounts)).toEqual(["default"]);
    expect(authOf(stage.desk)).toEqual({ cursor: { type: "api", key: "kept-by-excursor" } });
    const { stdout } = await stage.opencode("models", "cursor").outcome;
    expect(stdout).toContain("cursor/composer-2.5");
    await stage.opencode("auth", "logout", "cursor").outcome;
    await stage.opencode("models").outcome;
    expect(accountsOf(stage.desk).accounts).toEqual({});
  });

  it("takes over what another plugin has kept as `refresh|apiKey`, and `excursor logout` is not undone", async () => {
    const { desk, opencode, environment } = await setUp();
    const { accessToken, refreshToken } = issueTokens("auth0|user_of-another-plugin", -10);
    const folder = join(desk.home, "data", "opencode");
    mkdirSync(folder, { recursive: true });
    const auth = { type: "oauth", refresh: `${refreshToken}|some-key`, access: accessToken, expires: 0 };
    writeFileSync(join(folder, "auth.json"), JSON.stringify({ cursor: auth }), { mode: 0o600 });
    const { stdout } = await opencode("models", "cursor").outcome;
    expect(stdout).toContain("cursor/composer-2.5");
    expect(accountsOf(desk).accounts).toMatchObject({
      default: { refresh: expect.stringMatching(/^eyJ.*\|some-key$/) },
    });
    expect(authOf(desk)).toEqual({ cursor: { type: "api", key: "kept-by-excursor" } });
    expect(await runExcursor(["logout"], desk, environment)).toBe(0);
    await opencode("models").outcome;
    expect(accountsOf(desk).accounts).toEqual({});
  });

  it("says on stderr why there are no models", async () => {
    const { desk, opencode } = await setUp();
    mkdirSync(join(desk.home, "excursor"), { mode: 0o700 });
    writeFileSync(join(desk.home, "excursor", "config.json"), "{ not json", { mode: 0o600 });
    const { stderr } = await opencode("models").outcome;
    expect(stderr).toContain("excursor: Cursor's models could not be listed: ");
    expect(stderr).toContain("config.json");
  });
});

/** `script` gives a program a terminal. */
const hasTerminal = spawnSync("script", ["--version"]).status === 0;

/** Runs OpenCode on a terminal, types something when a text is there, and gives all that was shown. */
async function onTerminal(
  { desk, environment }: Awaited<ReturnType<typeof setUp>>,
  args: readonly string[],
  prompt: string,
  typed: string,
): Promise<string> {
  const words = ["opencode", ...args].map((word) => `'${word}'`).join(" ");
  const command = `stty rows 40 cols 120; exec ${words}`;
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: desk.folder,
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...homeOf(desk), TERM: "xterm", ...environment },
  });
  cleanups.push(() => child.kill("SIGKILL"));
  let screen = "";
  let isTyped = false;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    screen += chunk;
    if (isTyped || !screen.includes(prompt)) return;
    isTyped = true;
    child.stdin.write(`${typed}\r`);
  });
  await once(child, "close");
  return screen;
}
