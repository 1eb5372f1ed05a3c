import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createCursorModels } from "../../../../src/drivers/cursor/models/cursor-models.ts";
import type { CursorModels } from "../../../../src/drivers/cursor/models/model.ts";
import type { ModelListSource } from "../../../../src/drivers/cursor/models/model-lists.ts";
import { variantsOf, variantText } from "../../../../src/sim/endpoints/models/model-variants.ts";
import { MODELS } from "../../../../src/sim/endpoints/models/sim-models.ts";
import { ALICE, flatList, NEVER, row, shown, simulatedLists } from "./support.ts";

let lists: ModelListSource & AsyncDisposable;
let models: CursorModels;

beforeAll(async () => {
  lists = await simulatedLists();
  models = createCursorModels({ source: lists });
});
afterAll(() => lists[Symbol.asyncDispose]());

test.each<[string, string | undefined, boolean]>([
  ["claude-opus-4-8", undefined, false],
  ["claude-opus-4-8", "low", false],
  ["claude-opus-4-8", "none", false],
  ["claude-opus-4-8", "minimal", true],
  // What the name says counts for more.
  ["claude-opus-4-8-thinking-high", "low", true],
  ["gpt-5.5", "none", false],
  ["grok-code-fast-1", "high", true],
  ["claude-4.5-sonnet", "high", false],
])("%s with the effort %s is ignored: %s", async (id, effort, isIgnored) => {
  expect((await models.resolve({ id, effort }, ALICE)).ignoresEffort).toBe(isIgnored);
});

async function resolve(id: string, effort?: string, catalogue = models): Promise<string[]> {
  const { encodings } = await catalogue.resolve({ id, effort }, ALICE);
  return encodings.filter((encoding) => encoding !== undefined).map(shown);
}

describe("a name", () => {
  test.each([
    ["auto", ["default"]],
    ["default", ["default"]],
    ["gpt-5.1-codex-max", ["gpt-5.1-codex-max"]],
    ["grok-code-fast-1", ["grok-code-fast-1"]],
    ["composer", ["composer-2.5", "composer-2.5[fast=false]"]],
    ["composer-2.5-fast", ["composer-2.5-fast", "composer-2.5[fast=true]"]],
    ["claude-opus-4-8", ["claude-opus-4-8-thinking-high", "claude-opus-4-8[thinking=true,effort=high,fast=false]"]],
    ["Claude-Opus-4-8-High", ["claude-opus-4-8-high", "claude-opus-4-8[thinking=false,effort=high,fast=false]"]],
    [
      "claude-opus-4-8-thinking-high-fast",
      ["claude-opus-4-8-thinking-high-fast", "claude-opus-4-8[thinking=true,effort=high,fast=true]"],
    ],
    // Not an id of the backend's: what is not said is the default.
    ["opus-fast", ["claude-opus-4-8-thinking-high-fast", "claude-opus-4-8[thinking=true,effort=high,fast=true]"]],
    ["opus-low", ["claude-opus-4-8-thinking-low", "claude-opus-4-8[thinking=true,effort=low,fast=false]"]],
    // `max` is an effort where there is one of that name, unless the effort was named already.
    ["sonnet-max", ["claude-sonnet-5-thinking-max", "claude-sonnet-5[thinking=true,effort=max]"]],
    ["sonnet-low-max", ["claude-sonnet-5-thinking-low+max", "claude-sonnet-5[thinking=true,effort=low]+max"]],
    ["gemini-3.1-pro-max", ["gemini-3.1-pro+max"]],
    ["gpt-5.5-xhigh", ["gpt-5.5-extra-high", "gpt-5.5[reasoning=extra-high,fast=false]"]],
    ["gpt-5.5[effort=xhigh,fast=true]", ["gpt-5.5-extra-high-fast", "gpt-5.5[reasoning=extra-high,fast=true]"]],
    ["opus[thinking=false]", ["claude-opus-4-8-high", "claude-opus-4-8[thinking=false,effort=high,fast=false]"]],
    ["gemini[max=true]", ["gemini-3.1-pro+max"]],
    ["gemini[1m]", ["gemini-3.1-pro+max"]],
    ["gemini[context=200k]", ["gemini-3.1-pro"]],
    ["gpt-5.1-codex-max[]", ["gpt-5.1-codex-max"]],
  ])("%s", async (id, encodings) => {
    expect(await resolve(id)).toEqual(encodings);
  });

  test.each([
    ["claude-sonnet-4-5", "claude-4.5-sonnet"],
    ["claude-sonnet-4-5-20250929", "claude-4.5-sonnet"],
    ["anthropic/claude-sonnet-4.5", "claude-4.5-sonnet"],
    ["claude-4-8-opus-latest", "claude-opus-4-8"],
    ["claude-opus-4.8-low", "opus-low"],
    ["openai/gpt-5.5-2026-04-23", "gpt-5.5"],
    ["gpt-5-5", "gpt-5.5"],
  ])("%s is what Cursor calls %s", async (id, cursors) => {
    expect(await resolve(id)).toEqual(await resolve(cursors));
  });

  test("may be any id or variant text of the catalogue, and comes back as exactly that", async () => {
    for (const model of MODELS) {
      for (const { wireId, params } of variantsOf(model)) {
        const byParameters = `${model.id}[${params.map(({ id, value }) => `${id}=${value}`).join(",")}]`;
        const both = params.length === 0 ? [wireId] : [wireId, byParameters];
        expect(await resolve(wireId)).toEqual(both);
        expect(await resolve(variantText(model.id, params))).toEqual(both);
      }
    }
  });

  test.each([
    ["gpt-9", /gpt-5/],
    // The version is the version, in any order of words.
    ["claude-sonnet-5-4", /claude-sonnet-5/],
    ["claude-opus-8-4", /claude-opus-4-8/],
    ["claude-opus-4-9", /claude-opus-4-8/],
    ["gpt-5.4-mini-fast", /gpt-5.4-mini/],
    ["gemini-3.1-pro-high", /gemini-3.1-pro/],
    ["grok-code", /grok-code-fast-1/],
    ["gpt-5.1-codex", /gpt-5.1-codex-max/],
    ["", /no model ""/],
    ["constructor", /no model/],
    ["opus]", /no model/],
    ["[]", /no model/],
    ["-max", /no model/],
    ["x".repeat(100_000), /no model "x{80}…"/],
  ])("%.20s is no model", async (id, message) => {
    await expect(models.resolve({ id, effort: undefined }, ALICE)).rejects.toMatchObject({
      kind: "model-not-found",
      message: expect.stringMatching(message),
    });
  });

  test.each([
    ["opus[effort=huge]", "effort can be low, medium, high, xhigh, max"],
    ["opus[colour=red]", "its parameters are thinking, effort, fast, max, context"],
    ["opus[context=2m]", "its parameters are thinking, effort, fast, max, context"],
    ["auto[max=true]", "it has no parameters"],
  ])("%s asks for what is not offered", async (id, offer) => {
    await expect(models.resolve({ id, effort: undefined }, ALICE)).rejects.toMatchObject({
      kind: "invalid-request",
      code: "model_parameter_invalid",
      message: expect.stringContaining(offer),
    });
  });
});

describe("an effort beside the name", () => {
  test.each([
    ["opus", "low", "claude-opus-4-8-thinking-low"],
    ["opus", "minimal", "claude-opus-4-8-thinking-low"],
    ["opus", "none", "claude-opus-4-8-high"],
    ["gpt-5.5", "none", "gpt-5.5-none"],
    ["gpt-5.5", "xhigh", "gpt-5.5-extra-high"],
    ["gpt-5.5", "max", "gpt-5.5-extra-high"],
    ["glm-5.2", "none", "glm-5.2-high"],
    ["glm-5.2", "xhigh", "glm-5.2-high"],
    ["glm-5.2", "max", "glm-5.2-max"],
    ["claude-4.5-sonnet", "high", "claude-4.5-sonnet-thinking"],
    ["claude-4.5-sonnet", "none", "claude-4.5-sonnet"],
    ["grok", "high", "grok-code-fast-1"],
    ["gemini", "none", "gemini-3.1-pro"],
    // What the name says counts.
    ["opus-low", "max", "claude-opus-4-8-thinking-low"],
    ["claude-4.5-sonnet-thinking", "none", "claude-4.5-sonnet-thinking"],
    ["opus[fast=true]", "low", "claude-opus-4-8-thinking-low-fast"],
    ["opus", "no such word", "claude-opus-4-8-thinking-high"],
  ])("%s with %s is %s", async (id, effort, wireId) => {
    expect((await resolve(id, effort))[0]).toBe(wireId);
  });
});

describe("windows and images", () => {
  test.each([
    ["opus", 200_000, 1_000_000, true],
    ["opus[max=true]", 1_000_000, 1_000_000, true],
    ["gpt-5.5-high-max", 922_000, 922_000, true],
    ["gpt-5.4-mini", 32_000, undefined, true],
    ["glm", 128_000, undefined, false],
  ])("%s", async (id, contextTokens, maxModeContextTokens, supportsImages) => {
    const resolved = await models.resolve({ id, effort: undefined }, ALICE);
    expect(resolved).toMatchObject({ contextTokens, maxModeContextTokens, supportsImages });
  });
});

describe("lists of other shapes", () => {
  const from = (flat: string[], ...rows: Parameters<typeof row>[0][]) =>
    createCursorModels({ source: { flat: async () => flatList(...flat), rows: async () => rows.map(row) } });

  test("an id without an effort is the default one", async () => {
    const gpt = from(["gpt-5.2", "gpt-5.2-low", "gpt-5.2-low-fast"], {
      name: "gpt-5.2",
      variants: [
        { reasoning: "medium", fast: "false" },
        { reasoning: "low", fast: "false" },
        { reasoning: "low", fast: "true" },
      ],
    });
    expect(await resolve("gpt-5.2", undefined, gpt)).toEqual(["gpt-5.2", "gpt-5.2[reasoning=medium,fast=false]"]);
    expect(await resolve("gpt-5.2", "low", gpt)).toEqual(["gpt-5.2-low", "gpt-5.2[reasoning=low,fast=false]"]);
    // Fast is not offered with the default effort: what was named is kept, the rest yields.
    expect(await resolve("gpt-5.2-fast", undefined, gpt)).toEqual([
      "gpt-5.2-low-fast",
      "gpt-5.2[reasoning=low,fast=true]",
    ]);
  });

  test("the window can be a parameter, offered in max mode only", async () => {
    const opus = from(["opus-5"], {
      name: "opus-5",
      variants: [{ context: "300k" }],
      maxModeVariants: [{ context: "1m" }],
    });
    expect(await resolve("opus-5[1m]", undefined, opus)).toEqual(["opus-5+max", "opus-5[context=1m]+max"]);
    expect(await opus.resolve({ id: "opus-5", effort: undefined }, ALICE)).toMatchObject({
      contextTokens: 300_000,
    });
  });

  test("a model that has only max mode gets it", async () => {
    const big = from(["big"], { name: "big", maxModeVariants: [{}], supportsNonMaxMode: false });
    expect(await resolve("big", undefined, big)).toEqual(["big+max"]);
    expect((await big.list(ALICE, NEVER))[0]?.contextTokens).toBe(1_000_000);
  });

  test("an id that no row explains is a model of its own", async () => {
    const catalogue = from(["a", "a-turbo", "b-low", "b-high"], { name: "a", variants: [{ fast: "false" }] });
    expect((await catalogue.list(ALICE, NEVER)).map(({ id }) => id)).toEqual(["a", "a-turbo", "b"]);
    expect(await resolve("b", "high", catalogue)).toEqual(["b-high"]);
  });

  test("rows without variants are ids like any other", async () => {
    const catalogue = from([], { name: "b-low" }, { name: "b-high" }, { name: "c-max" });
    expect((await catalogue.list(ALICE, NEVER)).map(({ id }) => id)).toEqual(["b", "c-max"]);
    expect(await resolve("b-high", undefined, catalogue)).toEqual(["b-high"]);
  });
});
