import { hash } from "node:crypto";
import type { ModelDetails, ModelResponse, ShowResponse } from "ollama";
import type { ModelInfo } from "../../core/driver.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { Official } from "../shared/official.ts";

/** The version of Ollama whose API this is. Some clients require a minimum. */
export const API_VERSION = "0.13.5";

/** Returns `GET /api/tags`. */
export const modelList = (models: readonly ModelInfo[], modifiedAt: string): JsonObject => ({
  models: models.map((model) => modelEntry(model, modifiedAt)),
});

/** What a program on the user's machine would report of itself. No upstream does. */
const modelEntry = ({ id }: ModelInfo, modifiedAt: string) =>
  ({
    name: id,
    model: id,
    modified_at: modifiedAt,
    size: 0,
    digest: hash("sha256", id),
    details: DETAILS,
  }) satisfies Partial<Official<ModelResponse>>;

const DETAILS = {
  parent_model: "",
  format: "",
  family: "excursor",
  families: ["excursor"],
  parameter_size: "",
  quantization_level: "",
} as const satisfies Official<ModelDetails>;

/** Returns `POST /api/show`: the abilities and the context window, which clients choose their features by. */
export const modelDetails = (model: ModelInfo, modifiedAt: string) =>
  ({
    modelfile: "",
    parameters: "",
    template: "",
    modified_at: modifiedAt,
    details: DETAILS,
    model_info: {
      "general.architecture": "excursor",
      "general.basename": model.displayName,
      "excursor.context_length": model.contextTokens,
    },
    capabilities: [
      "completion",
      "tools",
      ...(model.supportsImages ? ["vision"] : []),
      ...(model.isThinking ? ["thinking"] : []),
    ],
  }) satisfies Partial<Omit<Official<ShowResponse>, "model_info">> & { readonly model_info: JsonObject };
