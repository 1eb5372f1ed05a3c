import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it } from "vitest";
import { issueTokens } from "../../src/sim/accounts.ts";
import { type Simulator, startSim } from "../../src/sim/server.ts";
import { excursor, type RunOptions } from "./support/excursor.ts";

let home = "";
let sim: Simulator;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "excursor-secrets-"));
  sim = await startSim();
});

afterEach(async () => {
  await sim.close();
  rmSync(home, { recursive: true });
});

const planted: string[] = [];

/** A secret that does not look like one, or one that does. */
function plant(secret = `canary${planted.length}zebra${Math.random().toString(36).slice(2)}`): string {
  planted.push(secret);
  return secret;
}

const session = () => issueTokens("auth0|user_secret", 3600);

/** Whole, in its first half, or in another writing. */
function isIn(text: string, secret: string): boolean {
  const half = secret.slice(0, Math.ceil(secret.length / 2));
  const forms = [secret, Buffer.from(secret).toString("base64"), Buffer.from(secret).toString("hex")];
  return [...forms, ...(half.length >= 16 && !secret.startsWith("eyJ") ? [half] : [])].some((form) =>
    text.includes(form),
  );
}

/** Twenty secrets in every place where there may be one, and every command that comes by them (SEC-50). */
it("twenty planted secrets appear in no log, error, doctor's output or crash", { timeout: 120_000 }, async () => {
  const own = join(home, "own");
  mkdirSync(own, { mode: 0o700 });
  const stored = (origin: string) => {
    const { accessToken, refreshToken } = session();
    const refresh = `${plant(refreshToken)}|${plant()}`;
    return { kept: "file", origin, savedAt: "2026-11-15T00:00:00.000Z", access: plant(accessToken), refresh };
  };
  const accounts = { default: stored(sim.url), elsewhere: stored("https://api2.cursor.sh") };
  const broken = {
    ...stored(sim.url),
    access: plant("invalid-canary-access-token"),
    refresh: plant("invalid-canary-refresh"),
  };
  writeFileSync(join(own, "accounts.json"), JSON.stringify({ version: 1, accounts: { ...accounts, broken } }), {
    mode: 0o600,
  });
  const cli = session();
  mkdirSync(join(home, ".config", "cursor"), { recursive: true });
  writeFileSync(
    join(home, ".config", "cursor", "auth.json"),
    `{"accessToken":"${plant(cli.accessToken)}","refreshToken":"${plant(cli.refreshToken)}","apiKey":"${plant()}`,
    { mode: 0o600 },
  );
  const ide = join(home, ".config", "Cursor", "User", "globalStorage", "state.vscdb");
  mkdirSync(dirname(ide), { recursive: true });
  const database = new DatabaseSync(ide);
  database.exec("CREATE TABLE ItemTable (key TEXT, value BLOB)");
  database.prepare("INSERT INTO ItemTable VALUES (?, ?)").run("cursorAuth/accessToken", plant());
  database.close();

  const [key, token, apiKey, cookie, seed, given] = [plant(), plant(), plant(), plant(), plant(), plant()];
  const outputs: string[] = [];
  const crash = `--import ${resolve("test/cli/support/crash.ts")}`;
  const environment = {
    EXCURSOR_HOME: own,
    HOME: home,
    EXCURSOR_UPSTREAM: sim.url,
    EXCURSOR_LOG_LEVEL: "trace",
    EXCURSOR_KEY: key,
    CURSOR_API_KEY: apiKey,
    NODE_OPTIONS: crash,
  };
  const run = (args: readonly string[], { environment: more, ...options }: RunOptions = {}) =>
    excursor(args, { ...options, environment: { ...environment, ...more } });
  const finish = async (running: ReturnType<typeof run>) => {
    const { stdout, stderr, code } = await running.exited;
    outputs.push(stdout, stderr);
    return code;
  };

  expect(await finish(run(["login", "--cookie"], { input: cookie }))).toBe(65);
  expect(await finish(run(["login", "--seed"], { input: `invalid-${seed}\u00e9` }))).toBe(77);
  expect(await finish(run(["login", "--api-key", `invalid-${given}`]))).toBe(77);
  expect(await finish(run(["login", "--from", "cli"]))).toBe(77);
  expect(await finish(run(["login", "--from", "ide"]))).toBe(77);
  expect(await finish(run(["whoami", "--account", "broken"]))).toBe(77);
  expect(await finish(run(["whoami", "--json", "--account", "default"]))).toBe(0);
  expect(await finish(run(["doctor", "--json"], { environment: { EXCURSOR_TOKEN: token } }))).toBe(0);
  expect(await finish(run(["doctor"], { environment: { EXCURSOR_ACCOUNT: "broken" } }))).toBe(2);
  await finish(run(["config", "--json"], { environment: { EXCURSOR_TOKEN: token } }));

  const login = run(["login", "--json"], { environment: { EXCURSOR_TOKEN: token } });
  await login.firstLine();
  login.child.kill("SIGUSR2");
  expect(await finish(login)).toBe(70);
  expect(outputs.at(-1)).toContain("boom [redacted]");

  const gateway = run(["serve", "--port", "0"], { environment: { EXCURSOR_TOKEN: token } });
  const url = (await gateway.firstLine()).slice("ready ".length);
  const brought = plant(session().accessToken);
  const ask = async (bearer: string, content: string) => {
    const response = await fetch(`${url}/v1/chat/completions?token=${bearer}`, {
      method: "POST",
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "auto", messages: [{ role: "user", content }] }),
    });
    outputs.push(await response.text());
  };
  for (const bearer of [key, brought, plant()]) {
    await ask(bearer, "@sim say hello");
    await ask(bearer, `@sim fail internal ERROR_UNSPECIFIED ${token} ${bearer}`);
  }
  gateway.child.kill("SIGUSR2");
  expect(await finish(gateway)).toBe(70);
  expect(outputs.at(-1)).toContain("boom [redacted]");

  expect(planted.length).toBeGreaterThanOrEqual(20);
  const everything = outputs.join("\n");
  expect(planted.filter((secret) => isIn(everything, secret))).toEqual([]);
});
