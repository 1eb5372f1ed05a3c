import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { issueTokens } from "../../src/sim/accounts.ts";
import { startSim } from "../../src/sim/server.ts";
import { type Desk, setUpDesk, startCli } from "./support/run-cli.ts";

/** The package as it is installed: built, and without its sources. */
let installed = "";

beforeAll(() => {
  installed = mkdtempSync(join(tmpdir(), "excursor-package-"));
  const built = spawnSync("tsc", ["-p", "tsconfig.build.json", "--outDir", join(installed, "dist")], {
    encoding: "utf8",
  });
  if (built.status !== 0) throw new Error(built.stdout);
  for (const name of ["bin", "package.json"]) cpSync(name, join(installed, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(installed, "node_modules"));
}, 120_000);

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
    EXCURSOR_HOME: join(desk.home, "excursor"),
    EXCURSOR_UPSTREAM: sim.url,
    EXCURSOR_KEYCHAIN: "off",
  };
  const opencode = (...args: string[]) => startCli("opencode", args, desk, environment);
  return { desk, opencode, environment };
}

/** The backend answers in this process, so that nothing here may wait for it in the way of the other. */
async function logIn({ home }: Desk, environment: Readonly<Record<string, string>>): Promise<unknown> {
  const command = [join(installed, "bin", "excursor.js"), "login", "--api-key"];
  const child = spawn(process.execPath, command, {
    stdio: ["pipe", "ignore", "inherit"],
    env: { HOME: home, ...environment },
  });
  child.stdin.end("some-key");
  return (await once(child, "exit"))[0];
}

const accountsOf = ({ home }: Desk) =>
  JSON.parse(readFileSync(join(home, "excursor", "accounts.json"), "utf8")) as { accounts: Record<string, unknown> };

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
    const kept = readFileSync(join(stage.desk.home, "data", "opencode", "auth.json"), "utf8");
    expect(JSON.parse(kept)).toEqual({ cursor: { type: "api", key: "kept-by-excursor" } });
  });

  it("takes over what another plugin has kept as `refresh|apiKey`", async () => {
    const { desk, opencode } = await setUp();
    const { accessToken, refreshToken } = issueTokens("auth0|user_of-another-plugin", -10);
    const folder = join(desk.home, "data", "opencode");
    mkdirSync(folder, { recursive: true });
    const auth = { type: "oauth", refresh: `${refreshToken}|some-key`, access: accessToken, expires: 0 };
    writeFileSync(join(folder, "auth.json"), JSON.stringify({ cursor: auth }), { mode: 0o600 });
    await opencode("models").outcome;
    expect(accountsOf(desk).accounts).toMatchObject({
      default: { refresh: expect.stringMatching(/^eyJ.*\|some-key$/) },
    });
    const { stdout } = await opencode("models", "cursor").outcome;
    expect(stdout).toContain("cursor/composer-2.5");
  });
});
