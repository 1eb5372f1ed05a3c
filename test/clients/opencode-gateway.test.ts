import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPlugin } from "../../src/opencode/create-plugin.ts";
import type { OpenCodeClient, PluginConfig, StoredAuth } from "../../src/opencode/plugin-api.ts";
import { issueTokens } from "../../src/sim/accounts.ts";
import { startSim } from "../../src/sim/server.ts";
import { excursor } from "../cli/support/excursor.ts";

const cleanups: (() => unknown)[] = [];
let root = "";

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "excursor-opencode-"));
  cleanups.push(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const bin = join(root, "bin");
  mkdirSync(bin);
  // OpenCode is on the path of everybody who uses the plugin, and an agent to us.
  writeFileSync(join(bin, "opencode"), "#!/bin/sh\n");
  chmodSync(join(bin, "opencode"), 0o700);
  for (const [name, value] of Object.entries({
    PATH: [dirname(process.execPath), bin, process.env["PATH"]].join(delimiter),
    HOME: root,
    XDG_DATA_HOME: join(root, "data"),
    EXCURSOR_HOME: join(root, "excursor"),
    EXCURSOR_KEYCHAIN: "off",
    EXCURSOR_MODELS: "quick=composer-2.5",
  })) {
    vi.stubEnv(name, value);
  }
});

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  vi.unstubAllEnvs();
});

async function useSim() {
  const sim = await startSim();
  cleanups.push(() => sim.close());
  vi.stubEnv("EXCURSOR_UPSTREAM", sim.url);
}

/** A backend that does with requests what it is told. */
async function useServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  vi.stubEnv("EXCURSOR_UPSTREAM", url);
  return url;
}

const authFile = () => join(root, "data", "opencode", "auth.json");

function storeAuth(auth: StoredAuth | undefined): void {
  mkdirSync(dirname(authFile()), { recursive: true });
  writeFileSync(authFile(), JSON.stringify(auth ? { cursor: auth } : {}));
}

const auth = (): { cursor?: StoredAuth } => JSON.parse(readFileSync(authFile(), "utf8"));
const KEPT = { type: "api", key: "kept-by-excursor" } as const;

function accounts(): Record<string, { refresh?: string; apiKey?: string }> {
  const file = join(root, "excursor", "accounts.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).accounts : {};
}

/** One start of OpenCode, which is patient. */
async function start(waitMs = 50_000) {
  const told: string[] = [];
  const client: OpenCodeClient = {
    app: {
      log: async ({ body }) => {
        told.push(`${body.level}: ${body.message}`);
      },
    },
    tui: { showToast: () => new Promise(() => {}) },
    auth: {
      set: async ({ body }) => {
        storeAuth(body);
        return {};
      },
    },
  };
  const stderr = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  const hooks = await createPlugin({ knownMs: waitMs, unknownMs: waitMs })({ client });
  cleanups.push(() => hooks.dispose());
  const configure = async (config: PluginConfig = {}) => {
    await hooks.config(config);
    return config.provider?.["cursor"];
  };
  return {
    hooks,
    told,
    configure,
    models: async (config: PluginConfig = {}) => Object.keys((await configure(config))?.models ?? {}),
    shown: () => stderr.mock.calls.map(([text]) => String(text)).join(""),
  };
}

async function run(...args: string[]) {
  const { code } = await excursor(args, { input: "some-key", environment: process.env as Record<string, string> })
    .exited;
  expect(code).toBe(0);
}

describe("the plugin for OpenCode, with `opencode` on the path", { timeout: 60_000 }, () => {
  it("lists the models of the account and their aliases, and no agents", async () => {
    await useSim();
    await run("login", "--api-key");
    const models = await (await start()).models();
    expect(models).toEqual(expect.arrayContaining(["auto", "composer-2.5", "gpt-5.5", "quick"]));
    expect(models.filter((id) => id.startsWith("acp:"))).toEqual([]);
  });

  it("lists nothing without an account, although agents would answer", async () => {
    await useSim();
    const { models, told, shown } = await start();
    expect(await models()).toEqual([]);
    expect(told).toEqual([expect.stringContaining("info: No Cursor account is signed in")]);
    expect(shown()).toBe("");
  });

  it("takes over what another plugin has kept as `refresh|apiKey`, at once and once", async () => {
    await useSim();
    const { accessToken, refreshToken } = issueTokens("auth0|user_of-another-plugin", -10);
    storeAuth({ type: "oauth", refresh: `${refreshToken}|some-key`, access: accessToken, expires: 0 } as StoredAuth);
    expect(await (await start()).models()).toContain("composer-2.5");
    expect(accounts()).toMatchObject({ default: { refresh: expect.stringMatching(/\|some-key$/) } });
    expect(auth()).toEqual({ cursor: KEPT });
    await run("logout");
    expect(await (await start()).models()).toEqual([]);
    expect(accounts()).toEqual({});
  });

  it("leaves another plugin's login alone where an account is signed in, or it is refused", async () => {
    const login = { type: "oauth", refresh: "refresh|some-key" } as const;
    await useSim();
    await run("login", "--api-key");
    storeAuth(login);
    expect(await (await start()).models()).toContain("auto");
    expect(auth()).toEqual({ cursor: login });
    await run("logout");
    await useServer((_, response) => void response.writeHead(401).end());
    const refused = await start();
    expect(await refused.models()).toEqual([]);
    expect(auth()).toEqual({ cursor: login });
    expect(refused.shown()).toMatch(/^excursor: Signing in to Cursor with the login that another plugin .* failed: /);
  });

  it("takes an API key that OpenCode has asked for, and leaves nothing of it there", async () => {
    await useSim();
    const { hooks, models } = await start();
    await models();
    // OpenCode asks for it by itself, hidden, if a method has neither prompts nor `authorize`.
    expect(hooks.auth.methods[1]).toEqual({ type: "api", label: "Cursor API key" });
    storeAuth({ type: "api", key: "some-secret-key" });
    await hooks.dispose();
    expect(auth()).toEqual({ cursor: KEPT });
    expect(Object.keys(accounts())).toEqual(["default"]);
    const state = JSON.parse(readFileSync(join(root, "data", "opencode", "excursor.json"), "utf8"));
    expect(state).toMatchObject({ signedIn: ["default"], unfinished: {} });
    expect(await (await start()).models()).toContain("auto");
  });

  it("says that an API key was refused, and does not keep it either", async () => {
    await useServer((_, response) => void response.writeHead(401).end());
    storeAuth({ type: "api", key: "some-secret-key" });
    const { models, shown } = await start();
    expect(await models()).toEqual([]);
    expect(auth()).toEqual({ cursor: KEPT });
    expect(accounts()).toEqual({});
    expect(shown()).toContain("Signing in to Cursor with the API key failed: ");
    expect(shown()).not.toContain("some-secret-key");
  });

  it("keeps an API key for the next start where the backend is away", async () => {
    vi.stubEnv("EXCURSOR_UPSTREAM", "http://127.0.0.1:1");
    storeAuth({ type: "api", key: "some-secret-key" });
    const { models, hooks, shown } = await start();
    await models();
    await hooks.dispose();
    expect(auth()).toEqual({ cursor: { type: "api", key: "some-secret-key" } });
    expect(shown().match(/with the API key failed/g)).toHaveLength(1);
    await useSim();
    expect(await (await start()).models()).toContain("auto");
  });

  it("signs out after a logout in OpenCode, and not the account that OpenCode did not sign in", async () => {
    await useSim();
    await run("login", "--api-key");
    storeAuth(undefined);
    expect(await (await start()).models()).toContain("auto");
    storeAuth({ type: "api", key: "some-secret-key" });
    expect(await (await start()).models()).toContain("auto");
    storeAuth(undefined);
    expect(await (await start()).models()).toEqual([]);
    expect(accounts()).toEqual({});
    await run("login", "--api-key");
    expect(await (await start()).models()).toContain("auto");
  });

  it("sends its key to its own gateway, and leaves a provider alone that is elsewhere", async () => {
    const seen: (string | undefined)[] = [];
    const url = await useServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end("{}");
    });
    const { configure, hooks } = await start();
    const options = { baseURL: `${url}/v1`, apiKey: "theirs" };
    expect(await configure({ provider: { cursor: { options } } })).toEqual({ options });
    expect(await hooks.auth.loader(async () => KEPT)).toEqual({});
    const own = (await (await start()).configure())?.options as { fetch: typeof fetch };
    seen.length = 0;
    await own.fetch(`${url}/v1/models`, { headers: { authorization: "Bearer theirs" } });
    await own.fetch(new Request(`${url}/v1/models`));
    await own.fetch(`${url}/?http://excursor.invalid/v1`);
    expect(seen).toEqual(["Bearer theirs", undefined, undefined]);
  });

  it("does not wait long for a backend that is silent: it has the list of the last start", async () => {
    await useSim();
    await run("login", "--api-key");
    await (await start()).models();
    // The login is for this origin: nothing but the answers may change.
    const sim = process.env["EXCURSOR_UPSTREAM"] ?? "";
    expect(await (await start()).models()).toContain("composer-2.5");
    await useServer(() => {});
    vi.stubEnv("EXCURSOR_TOKEN", "some-token");
    const silent = await start(100);
    expect(await silent.models()).toEqual([]);
    expect(silent.shown()).toContain("Cursor did not list its models within 0.1 seconds");
    const file = join(root, "data", "opencode", "excursor.json");
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(sim, process.env["EXCURSOR_UPSTREAM"] ?? ""));
    expect(await (await start(100)).models()).toContain("composer-2.5");
  });

  it("has the list of the last start while a sign-in waits for a silent backend, and does not wait for it again", async () => {
    const waiting: (() => void)[] = [];
    await useServer((request) => void waiting.push(() => request.destroy()));
    const listKey = JSON.stringify(["default", process.env["EXCURSOR_UPSTREAM"], process.env["EXCURSOR_HOME"]]);
    storeAuth({ type: "api", key: "some-secret-key" });
    const file = join(root, "data", "opencode", "excursor.json");
    writeFileSync(file, JSON.stringify({ models: { [listKey]: { "composer-2.5": {} } } }));
    const first = await start(100);
    expect(await first.models()).toEqual(["composer-2.5"]);
    expect(first.shown()).not.toContain("Signing in");
    await expect.poll(() => waiting.length, { timeout: 20_000 }).toBeGreaterThan(0);
    // A patient one: it would see the sign-in fail if it waited.
    const second = await start();
    expect(await second.models()).toEqual(["composer-2.5"]);
    await second.hooks.auth.loader(async () => ({ type: "api", key: "some-secret-key" }));
    expect(second.shown()).not.toContain("Signing in");
    for (const end of waiting) end();
    await Promise.all([first.hooks.dispose(), second.hooks.dispose()]);
    expect(auth()).toEqual({ cursor: { type: "api", key: "some-secret-key" } });
    expect(readFileSync(file, "utf8")).not.toContain("some-secret-key");
  });

  it("says why there are no models", async () => {
    await useServer((_, response) => void response.writeHead(500).end());
    vi.stubEnv("EXCURSOR_TOKEN", "some-token");
    const failing = await start();
    expect(await failing.models()).toEqual([]);
    expect(failing.shown()).toMatch(/^excursor: Cursor's models could not be listed: .+/);
    mkdirSync(join(root, "excursor"), { recursive: true, mode: 0o700 });
    writeFileSync(join(root, "excursor", "config.json"), "{ not json", { mode: 0o600 });
    const broken = await start();
    expect(await broken.models()).toEqual([]);
    expect(broken.shown()).toContain("config.json");
    vi.stubEnv("PATH", root);
    const nodeless = await start();
    expect(await nodeless.models()).toEqual([]);
    expect(nodeless.shown()).toContain("`node` was not found in PATH");
  });
});
