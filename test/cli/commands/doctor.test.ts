import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { foreignSources } from "../../../src/app/accounts/open-accounts.ts";
import { type Simulator, startSim } from "../../../src/sim/server.ts";
import { replyStream } from "../../drivers/support/api-server.ts";
import { startOpenAiServer } from "../../drivers/support/openai-server.ts";
import { excursor } from "../support/excursor.ts";

const SCRIPTED_AGENT = fileURLToPath(new URL("../../drivers/acp/support/scripted-agent.mjs", import.meta.url));

let home = "";
let sim: Simulator;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "excursor-doctor-"));
  sim = await startSim();
});

afterEach(async () => {
  await sim.close();
  rmSync(home, { recursive: true });
});

const run = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  excursor(args, { environment: { EXCURSOR_HOME: home, EXCURSOR_UPSTREAM: sim.url, ...environment } });

interface Finding {
  readonly id: string;
  readonly status: string;
  readonly text: string;
  readonly fix?: string;
}

async function examine(args: readonly string[] = [], environment: Readonly<Record<string, string>> = {}) {
  const { code, stdout, stderr } = await run(["doctor", "--json", ...args], environment).exited;
  expect(stderr).toBe("");
  const findings = new Map((JSON.parse(stdout) as Finding[]).map((finding) => [finding.id, finding]));
  return { code, findings, of: (id: string) => findings.get(id) };
}

describe("excursor doctor", { timeout: 90_000 }, () => {
  it("finds everything well, to the tool's round trip, and says so on one line each", async () => {
    await run(["login", "--api-key", "some-key"]).exited;
    const { code, stdout } = await run(["doctor"]).exited;
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => line.split(/ +/).slice(0, 2).join(" "))).toEqual([
      "ok node",
      "ok config",
      "ok home",
      "ok tls",
      "- bridge",
      "ok network",
      "ok clock",
      "- credentials/environment",
      "ok credentials/store",
      "- credentials/request",
      "ok token",
      "ok models",
      "ok stream",
      "ok tools",
    ]);
    expect(stdout).not.toMatch(/\p{Cc}\[|eyJ/u);
  });

  it("asks no model anything when it shall be quick, and the simulator in demo mode", async () => {
    const { code, findings } = await examine(["--demo", "--quick"]);
    expect([code, [...findings.keys()]]).toEqual([0, ["node", "config", "home", "tls", "bridge", "models"]]);
  });

  it("says what to do where nobody is signed in", async () => {
    const { code, of } = await examine();
    expect(code).toBe(2);
    expect(of("token")).toMatchObject({ status: "fail", fix: expect.stringContaining("excursor login") });
    expect(of("models")).toMatchObject({ status: "skip" });
  });

  it("names a damaged store where the token should be, and the variable of a token that is refused", async () => {
    writeFileSync(join(home, "accounts.json"), "{", { mode: 0o600 });
    const damaged = await examine(["--quick"]);
    expect(damaged.of("token")).toMatchObject({ status: "fail", text: expect.stringContaining("damaged") });
    const refused = await examine(["--quick"], { EXCURSOR_TOKEN: "invalid-token" });
    expect(refused.of("token")).toMatchObject({
      status: "fail",
      fix: expect.stringMatching(/EXCURSOR_TOKEN.*remove it/),
    });
  });

  it("says that the backend cannot be reached", async () => {
    const { code, of } = await examine(["--upstream", "http://127.0.0.1:9"], { EXCURSOR_TOKEN: "some-token" });
    expect(code).toBe(2);
    expect(of("network")).toMatchObject({ status: "fail", text: expect.stringContaining("refuses connections") });
  });

  it("says that the clock is an hour off, and that all works nevertheless (REL-39)", async () => {
    await run(["login", "--api-key", "some-key"]).exited;
    const preload = `--import ${resolve("test/cli/support/an-hour-ahead.ts")}`;
    const { code, of } = await examine([], { NODE_OPTIONS: preload });
    expect(code).toBe(1);
    expect(of("clock")).toMatchObject({
      status: "warn",
      text: "The clock of this machine is 60 min ahead of the backend's.",
      fix: expect.stringContaining("Set the clock"),
    });
    for (const id of ["token", "models", "stream", "tools"]) expect(of(id)).toMatchObject({ status: "ok" });
  });

  it.each<[string, Readonly<Record<string, string>>, string, string]>([
    ["a token that is refused", { EXCURSOR_TOKEN: "invalid-token" }, "token", "excursor login"],
    ["an unknown account", { EXCURSOR_ACCOUNT: "nobody" }, "credentials/store", "excursor login --account nobody"],
    ["a bad setting", { EXCURSOR_PORT: "x" }, "config", "excursor config"],
    ["a setting that is none", { EXCURSOR_PROT: "1", EXCURSOR_TOKEN: "some-token" }, "config", "Rename it"],
  ])("says what to do about %s", async (_, environment, id, fix) => {
    const { code, of } = await examine(["--quick"], environment);
    expect(code).not.toBe(0);
    expect(of(id)).toMatchObject({ status: expect.stringMatching(/warn|fail/), fix: expect.stringContaining(fix) });
  });

  it.each<[string, (path: string) => void, string]>([
    ["damaged", (path) => writeFileSync(path, '{"version":1,"acc', { mode: 0o600 }), "is damaged"],
    ["readable by others", (path) => chmodSync(path, 0o644), "Other users can access"],
  ])("goes on to the next source where accounts are %s", async (_, spoil, text) => {
    await run(["login", "--api-key", "some-key"]).exited;
    spoil(join(home, "accounts.json"));
    const { code, of } = await examine(["--quick"]);
    expect(code).toBe(2);
    expect(of("credentials/store")).toMatchObject({ status: "warn", text: expect.stringContaining(text) });
    expect(of("token")).toMatchObject({ status: "fail" });
    const withToken = await examine(["--quick"], { EXCURSOR_TOKEN: "some-token" });
    expect(withToken.code).toBe(1);
    expect(withToken.of("token")).toMatchObject({ status: "ok" });
  });

  it("says that a login is in a keychain that cannot be used", async () => {
    const account = { kept: "keychain", origin: sim.url, savedAt: "2026-11-15T00:00:00.000Z" };
    writeFileSync(join(home, "accounts.json"), JSON.stringify({ version: 1, accounts: { default: account } }), {
      mode: 0o600,
    });
    const locked = await examine(["--quick"], {
      EXCURSOR_KEYCHAIN: "auto",
      DBUS_SESSION_BUS_ADDRESS: "unix:path=/none",
    });
    expect(locked.of("credentials/store")).toMatchObject({
      status: "warn",
      text: "The system keychain is locked or missing.",
    });
    const off = await examine(["--quick"]);
    expect(off.of("credentials/store")).toMatchObject({
      text: expect.stringContaining("but the settings turn the keychain off"),
    });
  });
});

describe("excursor doctor, beside Cursor", { timeout: 90_000 }, () => {
  const settings = (values: object) =>
    writeFileSync(join(home, "config.json"), JSON.stringify(values), { mode: 0o600 });

  it("needs no account where only another upstream is wanted, and asks that one", async () => {
    const server = await startOpenAiServer(
      [{ content: "one " }, { content: "two" }],
      [
        {
          tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "excursor_probe", arguments: "{}" } }],
        },
      ],
      ({ body }, response) => {
        const { content } = body.messages.at(-1) as { readonly content: string };
        const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "llama-4" };
        const choice = (delta: object, finish_reason: string | null) => ({
          ...chunk,
          choices: [{ index: 0, delta, finish_reason }],
        });
        replyStream(
          response,
          [choice({ content }, null), choice({}, "stop")].map((each) => `data: ${JSON.stringify(each)}\n\n`).join("") +
            "data: [DONE]\n\n",
        );
      },
    );
    settings({ models: { "local/*": { driver: "openai", baseURL: `${server.url}/v1` } } });
    const { code, findings, of } = await examine([], { EXCURSOR_UPSTREAM: "http://127.0.0.1:9" });
    expect([...findings.values()].filter(({ status }) => status === "fail" || status === "warn")).toEqual([]);
    expect(of("cursor")).toMatchObject({ status: "skip", text: expect.stringContaining("No account is signed in") });
    expect(of("upstream/local/*")).toMatchObject({ status: "ok", text: expect.stringContaining("2 models") });
    for (const id of ["models", "stream", "tools"]) expect(of(id)).toMatchObject({ status: "ok" });
    expect(code).toBe(0);
  });

  it("but an account that is named must work", async () => {
    const server = await startOpenAiServer();
    settings({ models: { "local/*": { driver: "openai", baseURL: `${server.url}/v1` } } });
    const { code, of } = await examine(["--quick", "--account", "nobody"]);
    expect(code).toBe(2);
    expect(of("token")).toMatchObject({ status: "fail" });
  });

  it("says of an upstream that it cannot be reached, or does not take the key", async () => {
    const server = await startOpenAiServer();
    settings({
      models: {
        gone: { driver: "openai", baseURL: "http://127.0.0.1:9/v1" },
        "shut/*": { driver: "openai", baseURL: `${server.url}/v1`, keyVariable: "SHUT_KEY" },
      },
    });
    const { code, of } = await examine(["--quick"], { SHUT_KEY: "wrong" });
    expect(code).toBe(2);
    expect(of("upstream/gone")).toMatchObject({ status: "fail", text: expect.stringContaining("refuses connections") });
    expect(of("upstream/shut/*")).toMatchObject({
      status: "fail",
      text: expect.stringContaining("rejected the gateway's key"),
    });
  });

  it("starts agents, and says which do not: no command, no handshake, a bad entry", async () => {
    const good = { command: process.execPath, args: [SCRIPTED_AGENT] };
    const gemini = { ...good };
    const dumb = { command: process.execPath, args: ["-e", "process.exit(3)"] };
    settings({ agents: { good, gemini, dumb, gone: { command: "/no/such/agent" }, broken: { args: [] } } });
    const { code, of } = await examine([], { EXCURSOR_TOKEN: "some-token" });
    expect(code).toBe(1);
    expect(of("agent/good")).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/started and answered in \d+ ms.*only applies when the agent asks/),
    });
    expect(of("agent/gemini")).toMatchObject({
      text: expect.stringContaining("`allow` sets the agent's own permission switch"),
    });
    expect(of("agent/dumb")).toMatchObject({ status: "warn", text: expect.stringContaining("exited with code 3") });
    expect(of("agent/gone")).toMatchObject({ status: "warn", text: expect.stringContaining("/no/such/agent") });
    expect(of("agent/broken")).toMatchObject({
      status: "warn",
      text: expect.stringContaining("agents → broken: command"),
    });
    expect((await examine(["--quick"], { EXCURSOR_TOKEN: "some-token" })).of("agent/good")).toMatchObject({
      status: "skip",
    });
  });

  it("asks the gateway that runs whether it has the bridge", async () => {
    const quick = async (bridge: boolean) => {
      settings({ bridge, bridgePort: 0 });
      return (await examine(["--quick"], { EXCURSOR_TOKEN: "some-token" })).of("bridge");
    };
    expect(await quick(false)).toMatchObject({ status: "skip" });
    expect(await quick(true)).toMatchObject({ status: "skip", text: "The gateway is not running." });
    const gateway = run(["serve", "--port", "0", "--token", "some-token", "--json"]);
    const { bridgeUrl } = JSON.parse(await gateway.firstLine()) as { readonly bridgeUrl: string };
    expect(await quick(true)).toMatchObject({ status: "ok", text: expect.stringContaining(bridgeUrl) });
  });

  it("looks for the macOS keychain on macOS only", () => {
    const ids = foreignSources(home).map(({ id }) => id);
    expect(ids.includes("macos-keychain")).toBe(process.platform === "darwin");
    expect(ids).toContain("cursor-cli");
  });
});

describe("excursor doctor --probe-version", { timeout: 60_000 }, () => {
  const probe = async (minClientVersion: string | undefined, environment: Readonly<Record<string, string>> = {}) => {
    const paths: string[] = [];
    const backend = await startSim({
      minClientVersion,
      trace: ({ kind, message }) => kind === "request" && paths.push((message as { path: string }).path),
    });
    try {
      const more = { EXCURSOR_UPSTREAM: backend.url, EXCURSOR_TOKEN: "some-token", ...environment };
      const { code, stdout } = await run(["doctor", "--probe-version", "--json"], more).exited;
      return { code, last: (JSON.parse(stdout) as Finding[]).at(-1), calls: paths.length };
    } finally {
      await backend.close();
    }
  };

  it("says what the backend takes, with at most five calls", async () => {
    const { code, last, calls } = await probe("cli-2026.02.01");
    expect([code, calls]).toEqual([0, 5]);
    expect(last).toMatchObject({
      id: "version",
      status: "ok",
      text: expect.stringContaining("cli-2026.02.13-41ac335"),
    });
  });

  it("says what to set if the configured version is refused", async () => {
    const { code, last } = await probe("cli-2026.05.01", { EXCURSOR_CLIENT_VERSION: "cli-2026.01.09-231024f" });
    expect(code).toBe(2);
    expect(last?.fix).toContain("EXCURSOR_CLIENT_VERSION=cli-2026.07.23-e383d2b");
  });

  it("stops at once if the backend fails for another reason", async () => {
    const environment = { EXCURSOR_UPSTREAM: "http://127.0.0.1:9", EXCURSOR_TOKEN: "some-token" };
    const { code, stderr } = await run(["doctor", "--probe-version"], environment).exited;
    expect([code, stderr]).toEqual([69, expect.stringContaining("127.0.0.1")]);
  });
});
