import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/app/load-config.ts";
import { exitCodeOf } from "../../src/cli/exit-codes.ts";
import { explainConfig } from "../../src/config/explain-config.ts";
import type { SettingSources } from "../../src/config/load-settings.ts";
import { ExcursorError } from "../../src/core/errors.ts";

let home = "";

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-"));
});

afterEach(() => rmSync(home, { recursive: true }));

const write = (content: string | object) =>
  writeFileSync(join(home, "config.json"), typeof content === "string" ? content : JSON.stringify(content, null, 2), {
    mode: 0o600,
  });

const load = (flags: SettingSources["flags"] = {}, environment: SettingSources["environment"] = {}) =>
  loadConfig({ flags, environment: { EXCURSOR_HOME: home, ...environment } });

function problemOf(act: () => unknown): ExcursorError {
  try {
    act();
  } catch (error) {
    if (error instanceof ExcursorError) return error;
  }
  throw new Error("nothing was wrong");
}

describe("a value", () => {
  it("comes from the flag before the environment before the file before the default", () => {
    write({ port: 3, limits: { drainMs: 5 } });
    expect(load({ port: 1 }, { EXCURSOR_PORT: "2" }).values.port).toBe(1);
    expect(load({}, { EXCURSOR_PORT: "2" }).values.port).toBe(2);
    expect(load().values.port).toBe(3);
    write({});
    expect(load().values.port).toBe(8787);
  });

  it.each([
    ["$5/day, $5/hour", "limit 2: dollars can be limited by day, month, total, conversation, such as"],
    ["40 steps/conversation", "limit 1: only tokens, dollars and requests can be limited, such as"],
    ["much", "limit 1: expected a limit such as"],
  ])("that is a wrong limit is told with what can be written instead: %s", (given, fault) => {
    const { message } = problemOf(() => load({}, { EXCURSOR_USAGE_OWN_LIMITS: given }));
    expect(message).toContain(`EXCURSOR_USAGE_OWN_LIMITS: ${fault}`);
    write({ usage: { ownLimits: "much" } });
    expect(problemOf(() => load()).message).toContain("usage.ownLimits: expected a list of limits such as");
  });

  it.each([
    [true, { listens: true }],
    [false, { listens: false }],
    [{ compat: true }, { listens: true, compat: true }],
    [{ compat: false }, { listens: true, compat: false }],
    [{}, { listens: true }],
  ])("of the bridge is a boolean or an object: %j", (given, expected) => {
    write({ bridge: given });
    expect(load().values.bridge).toEqual(expected);
  });

  it("of the bridge keeps the file's compat when a flag or the environment says only that it listens", () => {
    write({ bridge: { compat: true } });
    expect(load({ bridge: true }).values.bridge).toEqual({ listens: true, compat: true });
    expect(load({}, { EXCURSOR_BRIDGE: "1" }).values.bridge).toEqual({ listens: true, compat: true });
    expect(load({}, { EXCURSOR_BRIDGE: "false" }).values.bridge).toMatchObject({ listens: false });
    expect(load({}, { EXCURSOR_BRIDGE: '{"compat":false}' }).values.bridge).toEqual({ listens: true, compat: false });
    write({ bridge: false });
    expect(load({ bridge: "compat" }).values.bridge).toEqual({ listens: true, compat: true });
    expect(load({}, { EXCURSOR_BRIDGE: "compat" }).values.bridge).toEqual({ listens: true, compat: true });
    write({});
    expect(load().values.bridge).toBeUndefined();
    expect(problemOf(() => load({ bridge: "open" })).message).toContain("--bridge: expected true, false, or");
    write({ bridge: { compta: true } });
    expect(problemOf(() => load()).message).toContain("bridge: expected true, false, or");
  });

  it("tells where it came from", () => {
    write({ context: "trim", limits: { drainMs: 5 }, models: { best: "claude" } });
    const { origins } = load({ port: 1 }, { EXCURSOR_LOG_LEVEL: "debug", EXCURSOR_LIMITS_BODY_BYTES: "99" });
    const of = (key: string) => origins.get(key);
    expect(of("port")).toBe("--port");
    expect(of("logLevel")).toBe("EXCURSOR_LOG_LEVEL");
    expect(of("limits.bodyBytes")).toBe("EXCURSOR_LIMITS_BODY_BYTES");
    expect(of("context")).toBe(`${join(home, "config.json")}:2`);
    expect(of("limits.drainMs")).toBe(`${join(home, "config.json")}:4`);
    expect(of("host")).toBe("default");
  });

  it("as text is read by what it is", () => {
    const { values } = load(
      {},
      {
        EXCURSOR_HOSTS: "a.lan, b.lan:80",
        EXCURSOR_MODELS: "best=claude, fast=gpt[effort=low,fast=true],cheap=gpt[max]",
        EXCURSOR_ALLOW_TOKENS: "false",
        EXCURSOR_CLIENT_VERSION: "cli-2026.01.09-231024f",
        EXCURSOR_UPSTREAM: "http://127.0.0.1:99",
        EXCURSOR_AGENT_UPSTREAM: "https://agentn.us.api5.cursor.sh",
        EXCURSOR_CHECKSUM: "Vfb45Bi9abc/def",
        EXCURSOR_PORT: "",
      },
    );
    expect(values).toMatchObject({
      hosts: ["a.lan", "b.lan:80"],
      models: { best: "claude", fast: "gpt[effort=low,fast=true]", cheap: "gpt[max]" },
      allowTokens: false,
      clientVersion: "cli-2026.01.09-231024f",
      upstream: "http://127.0.0.1:99",
      agentUpstream: "https://agentn.us.api5.cursor.sh",
      checksum: "Vfb45Bi9abc/def",
      port: 8787,
    });
  });
});

describe("what is wrong is named with its place", () => {
  it.each<[string, string | object, string]>([
    ["an unknown key", { prot: 1 }, 'config.json:2: there is no setting "prot"; did you mean "port"?'],
    [
      "an unknown key in a group",
      { limits: { bodyByte: 1 } },
      'config.json:3: there is no setting "limits.bodyByte"; did you mean "limits.bodyBytes"?',
    ],
    ["a key like nothing", { zzzzzzzzz: 1 }, 'config.json:2: there is no setting "zzzzzzzzz"'],
    ["a prototype", '{"__proto__": {"port": 1}}', 'there is no setting "__proto__"'],
    ["a wrong type", { port: "many" }, 'config.json:2: port: expected a whole number from 0 to 65535, found "many".'],
    ["a number as text", { port: "80" }, "expected a whole number"],
    ["out of range", { port: 70_000 }, "from 0 to 65535, found 70000."],
    ["a fraction", { limits: { drainMs: 1.5 } }, "config.json:3: limits.drainMs: expected a whole number"],
    ["a wrong choice", { driver: "curser" }, 'driver: expected one of cursor, cursor-legacy, found "curser".'],
    ["a group that is none", { limits: 3 }, "limits: expected an object, found 3."],
    ["a setting that is a group", { port: {} }, "port: expected a whole number from 0 to 65535, found {}."],
    [
      "a host of runs in the clear",
      { agentUpstream: "http://example.com" },
      "agentUpstream: expected an https origin, or an http one on loopback",
    ],
    ["a checksum that no header can carry", { checksum: "a b" }, "checksum: expected 1 to 512 printable characters"],
    [
      "an upstream in the clear",
      { upstream: "http://example.com" },
      "upstream: expected an https origin, or an http one on loopback",
    ],
    ["an upstream with a path", { upstream: "https://example.com/x" }, "upstream: expected an https origin"],
    ["an upstream that is none", { upstream: "example" }, "upstream: expected an https origin"],
    ["an origin for all", { origins: ["*"] }, "origins: expected a list of origins"],
    ["a list that is a text", { hosts: "a" }, "hosts: expected a list of names"],
    ["a name without a model", { models: { a: 1 } }, "models: a: expected a model, cursor, anthropic, openai"],
    ["twice", '{\n  "port": 1,\n  "port": 2\n}', 'config.json:3: "port" appears twice.'],
    [
      "two routes of a name",
      '{ "models": {\n  "a:*": { "driver": "openai", "model": "x" },\n  "b": "x",\n  "a:*": "cursor"\n} }',
      'config.json:4: "a:*" appears twice.',
    ],
    ["not JSON", '{\n  "port": 1,\n  port: 2\n}', "config.json:3: not valid JSON."],
    ["a surplus comma", '{\n  "port": 1,\n}\n', "config.json:3: not valid JSON."],
    ["cut off", '{\n  "port": 1,\n  "ho', "config.json:3: not valid JSON."],
    ["a wrong word", '{\n  "port": nil\n}', "config.json:2: not valid JSON."],
    ["empty", "", "config.json:1: not valid JSON."],
    ["not an object", "[]", "expected an object with settings"],
  ])("%s", (_, content, message) => {
    write(content);
    const error = problemOf(load);
    expect(error.message).toContain(message);
    expect(exitCodeOf(error.kind)).toBe(78);
  });

  it("in the environment and in flags too", () => {
    expect(problemOf(() => load({}, { EXCURSOR_PORT: "many" })).message).toContain(
      "EXCURSOR_PORT: expected a whole number",
    );
    expect(problemOf(() => load({ upstream: "ftp://x" })).message).toContain("--upstream: expected an https origin");
    expect(problemOf(() => load({}, { EXCURSOR_MODELS: "a" })).message).toContain(
      "EXCURSOR_MODELS: expected an object",
    );
  });

  it("all at once, and also where another value wins", () => {
    write({ prot: 1, port: "x", driver: "y" });
    const { message } = problemOf(() => load({ port: 1 }));
    expect(message.split("\n")).toHaveLength(3);
  });

  it("a secret that is wrong is not shown", () => {
    write({ token: "has a space", key: 5 });
    const { message } = problemOf(load);
    expect(message).toContain("token: expected a token without spaces");
    expect(message).not.toContain("has a space");
  });

  it("text that is not JSON is not quoted", () => {
    write('{"token": secret-token }');
    expect(problemOf(load).message).not.toContain("secret-token");
  });

  it("a limit without a setting is only told, and changes nothing", () => {
    write({ limits: { jsonDepth: 3, drainMs: 7 } });
    const { values, warnings } = load({}, { EXCURSOR_LIMITS_KEEP_ALIVE_MS: "1" });
    expect(warnings).toEqual([
      `${join(home, "config.json")}:3: limits.jsonDepth has no effect: this limit is fixed`,
      "In the environment EXCURSOR_LIMITS_KEEP_ALIVE_MS has no effect: this limit is fixed",
    ]);
    expect(values.limits).toMatchObject({ drainMs: 7, jsonDepth: 128, keepAliveMs: 15_000 });
  });

  it("a setting that has gone is only told, by its key and its variable", () => {
    write({ captureContent: "hash", cluster: { secret: "a-secret-of-32-characters-at-least" } });
    const { warnings } = load({}, { EXCURSOR_CLUSTER_LOGIN_KEY: "x" });
    expect(warnings).toEqual([
      expect.stringContaining("captureContent has no effect: a capture keeps contents"),
      expect.stringContaining("cluster.secret has no effect: gateways do not call each other"),
      expect.stringContaining("EXCURSOR_CLUSTER_LOGIN_KEY has no effect: each gateway keeps its own logins"),
    ]);
    expect(warnings.join()).not.toContain("a-secret");
  });

  it("an unknown variable is only told", () => {
    const { warnings } = load({}, { EXCURSOR_PROT: "1", OTHER: "1" });
    expect(warnings).toEqual(['In the environment there is no setting "EXCURSOR_PROT"; did you mean "EXCURSOR_PORT"?']);
  });
});

it("explained, every setting is there and no secret is", () => {
  write({ token: "the-token-of-the-account" });
  const rows = explainConfig(load({}, { EXCURSOR_KEY: "the-key-of-the-gateway" }));
  expect(rows.find(({ key }) => key === "token")).toMatchObject({
    value: "[redacted]",
    origin: expect.stringContaining("config.json:2"),
  });
  expect(rows.find(({ key }) => key === "key")).toMatchObject({ value: "[redacted]", origin: "EXCURSOR_KEY" });
  expect(rows.find(({ key }) => key === "limits.bodyBytes")).toMatchObject({ value: 33_554_432, origin: "default" });
  expect(JSON.stringify(rows)).not.toMatch(/the-(?:key|token)-of/);
});
