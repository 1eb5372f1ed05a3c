import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { DRIVERS } from "../../../src/app/drivers.ts";
import { loadConfig } from "../../../src/app/load-config.ts";
import { routeModels } from "../../../src/app/models/route-models.ts";
import { withAliases } from "../../../src/app/models/with-aliases.ts";
import { createEngine } from "../../../src/core/engine/engine.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import { aTurn, done, gather, scriptedDriver, text, textIn } from "../../core/support/turns.ts";
import { startAnthropicServer } from "../../drivers/support/anthropic-server.ts";
import { type ApiServer, replyJson, startApiServer } from "../../drivers/support/api-server.ts";
import { driverServices } from "../../drivers/support/driver-services.ts";
import { startOpenAiServer } from "../../drivers/support/openai-server.ts";

const homes: string[] = [];

afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true });
});

/** The routing of a file with these settings. */
async function route(settings: object, environment: Record<string, string> = {}) {
  const home = mkdtempSync(join(tmpdir(), "excursor-routes-"));
  homes.push(home);
  writeFileSync(join(home, "config.json"), JSON.stringify(settings), { mode: 0o600 });
  const { values } = loadConfig({ flags: {}, environment: { ...environment, EXCURSOR_HOME: home } });
  const keys: string[] = [];
  const services = driverServices({ environment, onSecret: (secret) => keys.push(secret.reveal()) });
  const routing = await routeModels(DRIVERS, values, services);
  return { ...routing, keys };
}

const problemWith = async (settings: object, environment?: Record<string, string>): Promise<ExcursorError> => {
  try {
    await route(settings, environment);
  } catch (error) {
    if (error instanceof ExcursorError) return error;
  }
  throw new Error("nothing was wrong");
};

describe("which upstream answers for a model", () => {
  it.each([
    ["claude-sonnet-5", "claude-*"],
    ["claude-opus-x", "claude-opus-*"],
    ["claude-opus-5", "claude-opus-5"],
    ["local/llama", "local/*"],
    ["gpt-5.5", undefined],
    ["claude", undefined],
    ["claude-cursor", undefined],
  ])("%s: %s", async (model, expected) => {
    const { route: find } = await route({
      anthropic: { key: "k" },
      models: {
        "claude-*": "anthropic",
        "claude-opus-*": { driver: "anthropic", effort: "high" },
        "claude-opus-5": { driver: "anthropic" },
        "claude-cursor": "cursor",
        "local/*": { driver: "openai", baseURL: "http://127.0.0.1:11434/v1" },
        fast: "claude-haiku",
      },
    });
    expect(find(model)).toBe(expected);
  });

  it("answers by it, under the name it has there, and lists all, even if one is away", async () => {
    const anthropic = await startAnthropicServer(
      { blocks: [{ type: "text", text: "from anthropic" }] },
      { blocks: [{ type: "text", text: "again" }] },
    );
    const openai = await startOpenAiServer([{ content: "from openai" }], [{ content: "renamed" }]);
    const routing = await route(
      {
        anthropic: { key: "ka", baseURL: anthropic.url },
        models: {
          "claude-*": "anthropic",
          "local/*": { driver: "openai", baseURL: `${openai.url}/v1`, keyVariable: "LOCAL_KEY" },
          mine: { driver: "openai", baseURL: `${openai.url}/v1`, model: "qwen", effort: "low" },
          "away/*": { driver: "openai", baseURL: "http://127.0.0.1:9/v1" },
          sonnet: "claude-sonnet-5",
          "haiku*": "sonnet",
        },
      },
      { LOCAL_KEY: "kl" },
    );
    const cursor = scriptedDriver([[text("from cursor"), done()]]);
    const models = ["gpt-5.5", "claude-sonnet-5"].map((id) => ({
      id,
      displayName: id,
      aliases: [],
      contextTokens: 1,
      supportsImages: false,
      isThinking: false,
      efforts: [],
    }));
    const engine = withAliases(
      createEngine({
        drivers: new Map([["cursor", { ...cursor, listModels: () => Promise.resolve(models) }], ...routing.drivers]),
        route: (model) => routing.route(model) ?? "cursor",
      }),
      routing.aliases,
    );
    const signal = new AbortController().signal;
    const ask = async (id: string) =>
      textIn(await gather(engine.run(aTurn({ model: { id, effort: undefined } }), { requestId: "r", signal })));
    expect(await ask("sonnet")).toBe("from anthropic");
    expect(await ask("haiku-3")).toBe("again");
    expect(await ask("local/llama-4")).toBe("from openai");
    expect(await ask("mine")).toBe("renamed");
    expect(await ask("gpt-5.5")).toBe("from cursor");
    expect(anthropic.calls.map(({ body, headers }) => [body.model, headers["x-api-key"]])).toEqual([
      ["claude-sonnet-5", "ka"],
      ["claude-sonnet-5", "ka"],
    ]);
    expect(openai.calls.map(({ body, headers }) => [body.model, body.reasoning_effort, headers.authorization])).toEqual(
      [
        ["llama-4", undefined, "Bearer kl"],
        ["qwen", "low", undefined],
      ],
    );
    const listed = await engine.listModels({ id: "p", token: undefined }, signal);
    expect(listed.map(({ id, aliases }) => [id, ...aliases])).toEqual([
      ["gpt-5.5"],
      ["claude-sonnet-5", "sonnet"],
      ["claude-older"],
      ["local/llama-4"],
      ["local/qwen"],
      ["mine"],
    ]);
    expect(routing.keys).toEqual(["ka", "kl"]);
  });

  it("lists names of the user's own beside the model's, whichever of its names they stand for", async () => {
    const model = { contextTokens: 1, supportsImages: false, isThinking: false, efforts: [] };
    const models = [
      { ...model, id: "claude-opus-4-8", displayName: "Opus", aliases: ["opus", "opus-4.8"] },
      { ...model, id: "gpt-5.5", displayName: "GPT", aliases: ["gpt"] },
    ];
    const { aliases } = await route({
      models: { big: "opus", opus: "gpt-5.5", mine: "big", gpt: "gpt-5.5", old: "opus-4.8" },
    });
    const drivers = new Map([["cursor", { ...scriptedDriver(), listModels: () => Promise.resolve(models) }]]);
    const engine = withAliases(createEngine({ drivers, route: () => "cursor" }), aliases);
    const listed = await engine.listModels({ id: "p", token: undefined }, new AbortController().signal);
    expect(listed.map(({ id, aliases: names }) => [id, ...names])).toEqual([
      ["claude-opus-4-8", "old", "opus-4.8"],
      ["gpt-5.5", "big", "opus", "mine", "gpt"],
    ]);
  });

  it("a name that was given whole is listed, whatever the upstream can tell of it", async () => {
    const openai = await startOpenAiServer();
    const silent = await startApiServer((_, response) => replyJson(response, 404, { error: "no such page" }));
    const strict = await startApiServer((_, response) => replyJson(response, 401, { error: "no" }));
    const at = ({ url }: ApiServer, more: object = {}) => ({ driver: "openai", baseURL: `${url}/v1`, ...more });
    const { drivers } = await route({
      models: {
        listed: at(openai, { model: "qwen" }),
        hidden: at(openai),
        "some/*": at(silent, { model: "one" }),
        claude: { driver: "anthropic", baseURL: silent.url },
        "any/*": at(silent),
        refused: at(strict),
      },
    });
    const list = async (name: string) => {
      const asked = drivers.get(name)?.listModels({ id: "p", token: undefined }, new AbortController().signal);
      return asked?.then(
        (models) => models.map(({ id }) => id),
        ({ kind }) => kind,
      );
    };
    expect(await Promise.all(["listed", "hidden", "some/*", "claude", "any/*", "refused"].map(list))).toEqual([
      ["listed"],
      ["hidden"],
      ["some/one"],
      ["claude"],
      "not-found",
      "unauthenticated",
    ]);
  });

  it("a model that nobody answers for is a 404", async () => {
    const engine = createEngine({ drivers: new Map(), route: () => undefined });
    const answer = () => gather(engine.run(aTurn(), { requestId: "r", signal: new AbortController().signal }));
    await expect(answer()).rejects.toMatchObject({ kind: "model-not-found", field: "model" });
  });
});

describe("settings that cannot work are named at the start", () => {
  const at = (route: unknown) => ({ models: { "x/*": route } });

  it.each<[string, object, RegExp]>([
    ["no key for anthropic", { models: { "claude-*": "anthropic" } }, /claude-\*: there is no key for anthropic/],
    ["no key for openai", at("openai"), /x\/\*: there is no key for openai/],
    [
      "an unknown driver",
      at({ driver: "gemini" }),
      /models: x\/\* → driver: expected one of cursor, anthropic, openai/,
    ],
    ["an unknown field", at({ driver: "openai", baseUrl: "x" }), /x\/\*: Unrecognized key: "baseUrl"/],
    [
      "a key in the clear",
      at({ driver: "openai", baseURL: "http://example.com/v1" }),
      /baseURL: expected an https address/,
    ],
    ["no address", at({ driver: "openai", baseURL: "local" }), /baseURL: expected an https address/],
    ["an address for cursor", at({ driver: "cursor", baseURL: "https://x.example" }), /cursor takes no baseURL/],
    ["a key for no address", at({ driver: "openai", keyVariable: "X" }), /keyVariable requires baseURL/],
    [
      "an empty variable",
      at({ driver: "openai", baseURL: "https://x.example/v1", keyVariable: "NO_SUCH" }),
      /NO_SUCH is empty/,
    ],
    ["a star in the middle", { models: { "a*b": "openai" } }, /a\*b: expected a name/],
    ["a circle", { models: { a: "b", b: "a" } }, /a: this name refers to itself/],
    ["a fallback that is an upstream", { models: { "*": "openai" } }, /\*: expected a model, or one of your own names/],
    [
      "a fallback that is a route",
      { models: { "*": { driver: "openai" } } },
      /\*: expected a model, or one of your own names/,
    ],
    ["a fallback to itself", { models: { "*": "*" } }, /\*: this name refers to itself/],
    ["no route at all", at(7), /models: x\/\*: /],
    [
      "a base URL in the clear",
      { anthropic: { baseURL: "http://example.com" } },
      /anthropic.baseURL: expected an https address/,
    ],
    ["an odd key", { openai: { key: "two words" } }, /openai.key: expected a key without spaces, found something else/],
  ])("%s", async (_, settings, message) => {
    expect(await problemWith(settings)).toMatchObject({ kind: "config", message: expect.stringMatching(message) });
  });

  it("a key that was put there by mistake is not shown", async () => {
    const { message } = await problemWith(at({ driver: "openai", key: "sk-very-secret" }));
    expect(message).toContain('Unrecognized key: "key"');
    expect(message).not.toContain("sk-very-secret");
  });

  it("by the environment", async () => {
    const routing = await route(
      {},
      { EXCURSOR_MODELS: "claude-*=anthropic,fast=gpt-5.5-mini", EXCURSOR_ANTHROPIC_KEY: "k" },
    );
    expect([routing.route("claude-x"), routing.aliases.get("fast")]).toEqual(["claude-*", "gpt-5.5-mini"]);
    const json =
      '{ "local/*": { "driver": "openai", "baseURL": "http://127.0.0.1:1/v1" }, "*": "fast", "fast": "auto" }';
    const byJson = await route({}, { EXCURSOR_MODELS: json });
    expect([byJson.route("local/x"), byJson.fallback]).toEqual(["local/*", "auto"]);
    expect((await problemWith({}, { EXCURSOR_MODELS: "{ not json" })).message).toContain("EXCURSOR_MODELS");
    expect((await problemWith({}, { EXCURSOR_MODELS: "claude-*=anthropic" })).hint).toContain("EXCURSOR_ANTHROPIC_KEY");
  });
});

describe("a base URL with a slash at its end", () => {
  it.each(["anthropic", "openai"] as const)("of %s gets the key of that address", async (driver) => {
    const server = driver === "anthropic" ? await startAnthropicServer() : await startOpenAiServer();
    const baseURL = driver === "anthropic" ? server.url : `${server.url}/v1`;
    for (const [own, given] of [
      [`${baseURL}/`, baseURL],
      [baseURL, `${baseURL}/`],
    ] as const) {
      const { drivers } = await route({
        [driver]: { key: "k", baseURL: own },
        models: { mine: { driver, baseURL: given, model: "m" } },
      });
      const turn = aTurn({ model: { id: "mine", effort: undefined } });
      for (const upstream of drivers.values()) await gather(upstream.open(turn, { requestId: "r" })).catch(() => {});
    }
    expect(server.calls.map(({ headers }) => headers["x-api-key"] ?? headers.authorization)).toEqual(
      driver === "anthropic" ? ["k", "k"] : ["Bearer k", "Bearer k"],
    );
  });

  it.each([
    ["anthropic", "https://api.anthropic.com/"],
    ["openai", "https://api.openai.com/v1/"],
  ])("of %s itself needs a key, too", async (driver, baseURL) => {
    const problem = await problemWith({ [driver]: { baseURL }, models: { "x-*": driver } });
    expect(problem.message).toContain(`there is no key for ${driver}`);
  });
});
