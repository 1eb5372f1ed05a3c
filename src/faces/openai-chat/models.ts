import type { Model } from "openai/resources/models";
import type { ModelInfo } from "../../core/driver.ts";
import type { JsonObject, JsonValue } from "../../core/turn.ts";
import { invalid } from "../shared/errors/invalid.ts";
import type { Official } from "../shared/official.ts";
import { pageAfter, readCount } from "../shared/page.ts";

/**
 * Returns `GET /v1/models`. `created`, in seconds, is the same for all: no upstream reports it. OpenAI has no pages of
 * models; `limit` and `after` are those of its other lists.
 */
export function modelList(models: readonly ModelInfo[], created: number, query: URLSearchParams): JsonObject {
  const [limit, after] = [readCount(query, "limit"), query.get("after")];
  if (limit === 0) throw invalid("limit", "expected at least 1");
  const unknown = () => invalid("after", "no model has this id");
  const { items, hasMore } = pageAfter(models, after ?? undefined, limit ?? models.length, unknown);
  return {
    object: "list",
    data: items.map((model) => modelEntry(model, created)),
    ...((limit ?? after ?? undefined) !== undefined && {
      first_id: items[0]?.id ?? null,
      last_id: items.at(-1)?.id ?? null,
      has_more: hasMore,
    }),
  };
}

/**
 * What we add to the official model, by the names that clients of OpenRouter, Groq (`context_window`) and vLLM (`max_model_len`) read;
 * then another Excursor (`src/app/models/model-entry.ts`), and Cursor's Private Inference build, which shows only models with these.
 */
type Own =
  | ("name" | "context_length" | "architecture" | "context_window" | "max_model_len")
  | ("aliases" | "reasoning" | "reasoning_efforts")
  | ("api_types" | "capabilities");

/** Returns `GET /v1/models/{id}`. */
export const modelEntry = (model: ModelInfo, created: number) =>
  ({
    id: model.id,
    object: "model",
    created,
    owned_by: "excursor",
    name: model.displayName,
    aliases: model.aliases,
    context_length: model.contextTokens,
    context_window: model.contextTokens,
    max_model_len: model.contextTokens,
    architecture: modalities(model),
    reasoning: model.isThinking,
    reasoning_efforts: model.efforts,
    api_types: ["responses", "chat_completions"],
    capabilities: {
      context_length: model.contextTokens,
      ...modalities(model),
      supports_tool_use: true,
      supports_streaming: true,
      supports_reasoning: model.isThinking,
      supports_vision: model.supportsImages,
      reasoning_effort: model.efforts,
    },
  }) satisfies Official<Model> & Readonly<Record<Own, JsonValue>>;

const modalities = ({ supportsImages }: ModelInfo) => ({
  input_modalities: supportsImages ? ["text", "image"] : ["text"],
  output_modalities: ["text"],
});
