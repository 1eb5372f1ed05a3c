import { describe, expect, test } from "vitest";
import { AgentService } from "../../../src/gen/agent/v1/service_pb.ts";
import { AiService } from "../../../src/gen/aiserver/v1/ai_pb.ts";
import { findModel } from "../../../src/sim/endpoints/index.ts";
import { variantsOf } from "../../../src/sim/endpoints/models/model-variants.ts";
import { MODELS } from "../../../src/sim/endpoints/models/sim-models.ts";
import { bearer, call, callJson, startEndpoints } from "./support.ts";

describe("the catalogue", () => {
  test("means one model by every id and alias", () => {
    const ids = MODELS.flatMap((model) => [
      // A model without suffixes is its own only variant.
      ...new Set([model.id, ...variantsOf(model).map(({ wireId }) => wireId)]),
      ...model.aliases,
    ]);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test.each(MODELS.map((model) => [model.id, model] as const))("%s has one default variant", (_, model) => {
    expect(variantsOf(model).filter(({ isDefault }) => isDefault)).toHaveLength(1);
  });

  test("has what clients stumble over: no images, a small window, thinking that cannot be switched", () => {
    expect(MODELS.some(({ supportsImages }) => !supportsImages)).toBe(true);
    expect(MODELS.some(({ contextTokens }) => contextTokens <= 32_000)).toBe(true);
    expect(MODELS.some(({ thinking }) => thinking === "always")).toBe(true);
  });
});

describe("findModel", () => {
  test.each([
    ["default", "default"],
    ["auto", "default"],
    ["claude-opus-4-8", "claude-opus-4-8"],
    ["claude-opus-4-8-thinking-high-fast", "claude-opus-4-8"],
    ["claude-opus-4-8[thinking=true,effort=high,fast=false]", "claude-opus-4-8"],
    ["gpt-5.5-extra-high", "gpt-5.5"],
    ["gpt-5.1-codex-max", "gpt-5.1-codex-max"],
    ["grok-code-fast-1", "grok-code-fast-1"],
    ["sonnet", "claude-sonnet-5"],
  ])("%s is %s", (id, baseId) => {
    expect(findModel(id)?.baseId).toBe(baseId);
  });

  test.each(["", "gpt-9", "claude-opus-4-8-thinking", "constructor", "[]", "opus]"])("%j is no model", (id) => {
    expect(findModel(id)).toBeUndefined();
  });

  test("tells both windows, equal where there is no max mode", () => {
    expect(findModel("gpt-5.5")).toMatchObject({ contextTokens: 272_000, maxModeContextTokens: 922_000 });
    expect(findModel("gpt-5.4-mini-low")).toMatchObject({ contextTokens: 32_000, maxModeContextTokens: 32_000 });
  });
});

describe("GetUsableModels", () => {
  test("lists wire ids; thinking is told by presence", async () => {
    await using sim = await startEndpoints();
    const { models } = await call(sim, AgentService.method.getUsableModels, {});
    const byId = new Map(models.map((model) => [model.modelId, model]));
    expect(byId.get("default")).toMatchObject({ displayModelId: "auto", displayName: "Auto", aliases: ["auto"] });
    expect(byId.get("claude-opus-4-8-thinking-high-fast")?.displayName).toBe("Claude Opus 4.8 Thinking High Fast");
    expect(byId.get("claude-opus-4-8-thinking-high")?.thinkingDetails).toBeDefined();
    expect(byId.get("claude-opus-4-8-high")?.thinkingDetails).toBeUndefined();
    expect(byId.get("gpt-5.5-none")?.thinkingDetails).toBeUndefined();
    expect(byId.get("gpt-5.5-extra-high-fast")?.thinkingDetails).toBeDefined();
    expect(byId.has("gpt-5.5")).toBe(false);
  });

  test("answers in Connect JSON with the names that clients read, from either service", async () => {
    await using sim = await startEndpoints();
    const agent = await callJson(sim, AgentService.method.getUsableModels, { customModelIds: ["mine"] });
    expect(agent).toHaveProperty("models[0]", {
      modelId: "default",
      displayModelId: "auto",
      displayName: "Auto",
      displayNameShort: "Auto",
      aliases: ["auto"],
    });
    expect(agent).toHaveProperty("models[1].thinkingDetails", {});
    expect(await callJson(sim, AiService.method.getUsableModels, {})).toEqual(agent);
  });

  test("an alias is on one entry only", async () => {
    await using sim = await startEndpoints();
    const { models } = await call(sim, AiService.method.getUsableModels, {});
    expect(models.filter(({ aliases }) => aliases.includes("opus")).map(({ modelId }) => modelId)).toEqual([
      "claude-opus-4-8-thinking-high",
    ]);
  });
});

test("GetDefaultModelForCli and GetAllowedModelIntents answer from both services", async () => {
  await using sim = await startEndpoints();
  for (const service of [AgentService, AiService]) {
    const { model } = await call(sim, service.method.getDefaultModelForCli, {});
    expect(model?.modelId).toBe("default");
  }
  expect((await call(sim, AgentService.method.getAllowedModelIntents, {})).modelIntents).toEqual([]);
});

describe("AvailableModels", () => {
  test("has a row a model, with its windows and variants", async () => {
    await using sim = await startEndpoints();
    const { modelNames, models } = await call(sim, AiService.method.availableModels, { useModelParameters: true });
    expect(modelNames).toEqual(models.map(({ name }) => name));
    const opus = models.find(({ name }) => name === "claude-opus-4-8");
    expect(opus).toMatchObject({
      supportsImages: true,
      supportsMaxMode: true,
      contextTokenLimit: 200_000,
      contextTokenLimitForMaxMode: 1_000_000,
      clientDisplayName: "Claude Opus 4.8",
    });
    expect(opus?.variants.filter((variant) => variant.isDefaultNonMaxConfig)).toMatchObject([
      {
        displayName: "Claude Opus 4.8 Thinking High",
        isMaxMode: false,
        variantStringRepresentation: "claude-opus-4-8[thinking=true,effort=high,fast=false]",
        parameters: [
          { id: "thinking", value: "true" },
          { id: "effort", value: "high" },
          { id: "fast", value: "false" },
        ],
      },
    ]);
    expect(opus?.variants.filter((variant) => variant.isDefaultMaxConfig)).toHaveLength(1);
    expect(models.find(({ name }) => name === "glm-5.2")?.supportsImages).toBe(false);
  });

  test("takes the JSON that clients send, unknown members and all", async () => {
    await using sim = await startEndpoints();
    const request = { includeLongContextModels: true, useModelParameters: true, somethingNew: 1 };
    const answer = await callJson(sim, AiService.method.availableModels, request);
    expect(answer).toMatchObject({
      models: expect.arrayContaining([expect.objectContaining({ name: "gpt-5.4-mini" })]),
    });
    expect(answer).not.toHaveProperty("models[0].contextTokenLimitForMaxMode");
  });
});

test("GET /v1/models lists base ids with their parameters and variants", async () => {
  await using sim = await startEndpoints();
  const response = await fetch(`${sim.url}/v1/models`, { headers: bearer("key_1") });
  const { items } = (await response.json()) as { items: Record<string, unknown>[] };
  expect(items.map(({ id }) => id)).toEqual(MODELS.map(({ id }) => id));
  expect(items.find(({ id }) => id === "default")).toEqual({
    id: "default",
    displayName: "Auto",
    description: expect.any(String),
    aliases: ["auto"],
  });
  expect(items.find(({ id }) => id === "composer-2.5")).toMatchObject({
    parameters: [
      { id: "fast", displayName: "Fast", values: [{ value: "false" }, { value: "true", displayName: "Fast" }] },
    ],
    variants: [
      { params: [{ id: "fast", value: "false" }], displayName: "Composer 2.5", isDefault: true },
      { params: [{ id: "fast", value: "true" }], displayName: "Composer 2.5 Fast", isDefault: false },
    ],
  });
});
