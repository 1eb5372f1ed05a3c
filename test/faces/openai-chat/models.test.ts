import OpenAI from "openai";
import { expect, it } from "vitest";
import type { ModelInfo } from "../../../src/core/driver.ts";
import { modelEntry, modelList } from "../../../src/faces/openai-chat/models.ts";

const model: ModelInfo = {
  id: "a/b",
  displayName: "A B",
  aliases: ["ab"],
  contextTokens: 200_000,
  supportsImages: true,
  isThinking: true,
  efforts: ["low", "high"],
};

it("has OpenAI's four fields, and the window under every name that clients look for", () => {
  expect(modelEntry(model, 7)).toMatchObject({
    id: "a/b",
    object: "model",
    created: 7,
    owned_by: "excursor",
    context_length: 200_000,
    context_window: 200_000,
    architecture: { input_modalities: ["text", "image"] },
    reasoning_efforts: ["low", "high"],
  });
});

it("is a row that Cursor's Private Inference build shows", () => {
  // One such row makes it strict: then each needs these, and reads the rest.
  expect(modelEntry(model, 7)).toMatchObject({
    api_types: ["responses", "chat_completions"],
    capabilities: {
      context_length: 200_000,
      input_modalities: ["text", "image"],
      output_modalities: ["text"],
      supports_tool_use: true,
      supports_streaming: true,
      supports_reasoning: true,
      supports_vision: true,
      reasoning_effort: ["low", "high"],
    },
  });
});

it("is listed and read by OpenAI's own client", async () => {
  const fetch = async (url: string | URL | Request) =>
    Response.json(
      String(url).endsWith("/models") ? modelList([model], 7, new URLSearchParams()) : modelEntry(model, 7),
    );
  const client = new OpenAI({ apiKey: "k", baseURL: "http://localhost/v1", fetch });
  expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["a/b"]);
  expect(await client.models.retrieve("a/b")).toMatchObject({ id: "a/b", created: 7 });
});
