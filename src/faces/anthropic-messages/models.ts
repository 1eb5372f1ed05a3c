import type { ModelInfo } from "../../core/driver.ts";
import type { JsonObject } from "../../core/turn.ts";

/** Returns `GET /v1/models`, always in one page. `createdAt` is the same for all: no upstream reports it. */
export const modelPage = (models: readonly ModelInfo[], createdAt: string): JsonObject => ({
  data: models.map((model) => modelObject(model, createdAt)),
  has_more: false,
  first_id: models[0]?.id ?? null,
  last_id: models.at(-1)?.id ?? null,
});

/** Returns `GET /v1/models/{id}`. */
export const modelObject = (model: ModelInfo, createdAt: string): JsonObject => ({
  type: "model",
  id: model.id,
  display_name: model.displayName,
  created_at: createdAt,
  lifecycle: "active",
  deprecated_at: null,
  max_input_tokens: model.contextTokens,
  max_tokens: null,
  capabilities: {
    image_input: can(model.supportsImages),
    structured_outputs: can(true),
    thinking: { ...can(model.isThinking), types: { adaptive: can(model.isThinking), enabled: can(model.isThinking) } },
    effort: {
      ...can(model.efforts.length > 0),
      ...Object.fromEntries(EFFORTS.map((effort) => [effort, can(model.efforts.includes(effort))])),
    },
    batch: can(false),
    citations: can(false),
    code_execution: can(false),
    context_management: can(false),
    pdf_input: can(false),
    server_tools: can(false),
  },
});

const EFFORTS = ["low", "medium", "high", "xhigh", "max"] as const;

const can = (supported: boolean): JsonObject => ({ supported });
