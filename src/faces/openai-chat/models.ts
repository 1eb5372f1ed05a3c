import type { ModelInfo } from "../../core/driver.ts";
import type { JsonObject } from "../../core/turn.ts";

/** Returns `GET /v1/models`. `created`, in seconds, is the same for all: no upstream reports it. */
export const modelList = (models: readonly ModelInfo[], created: number): JsonObject => ({
  object: "list",
  data: models.map((model) => modelEntry(model, created)),
});

/** Returns `GET /v1/models/{id}`: OpenAI's fields, and those that clients read for window and abilities. */
export const modelEntry = (model: ModelInfo, created: number): JsonObject => ({
  id: model.id,
  object: "model",
  created,
  owned_by: "excursor",
  name: model.displayName,
  aliases: model.aliases,
  context_length: model.contextTokens,
  context_window: model.contextTokens,
  max_model_len: model.contextTokens,
  architecture: { input_modalities: model.supportsImages ? ["text", "image"] : ["text"], output_modalities: ["text"] },
  reasoning: model.isThinking,
  reasoning_efforts: model.efforts,
});
