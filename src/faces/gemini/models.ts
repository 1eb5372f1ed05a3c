import type { Model } from "@google/genai";
import type { ModelInfo } from "../../core/driver.ts";
import type { JsonObject } from "../../core/turn.ts";
import { invalid } from "../shared/errors/invalid.ts";
import type { Official } from "../shared/official.ts";
import { pageAfter, readCount } from "../shared/page.ts";

const DEFAULT_SIZE = 50;
const MAX_SIZE = 1000;

/** Returns `GET /v1beta/models`. The token of a page is the last id of the page before it. */
export function modelPage(models: readonly ModelInfo[], query: URLSearchParams): JsonObject {
  const token = query.get("pageToken");
  const after = token ? Buffer.from(token, "base64url").toString() : undefined;
  const size = Math.min(readCount(query, "pageSize") || DEFAULT_SIZE, MAX_SIZE);
  const page = pageAfter(models, after, size, () => invalid("pageToken", "expected a token of an earlier page"));
  const last = page.items.at(-1);
  return {
    models: page.items.map(modelObject),
    ...(page.hasMore && last && { nextPageToken: Buffer.from(last.id).toString("base64url") }),
  };
}

/** What the REST API has (ai.google.dev/api/models), and Google's own client renames or leaves out. */
interface RestModel {
  readonly baseModelId: string;
  readonly supportedGenerationMethods: readonly string[];
}

/** Returns `GET /v1beta/models/{id}`. No upstream reports a limit of the output. */
export const modelObject = (model: ModelInfo) =>
  ({
    name: `models/${model.id}`,
    baseModelId: model.id,
    version: model.id,
    displayName: model.displayName,
    description: model.displayName,
    inputTokenLimit: model.contextTokens,
    outputTokenLimit: model.contextTokens,
    supportedGenerationMethods: ["generateContent", "countTokens"],
    thinking: model.isThinking,
  }) satisfies Official<Model> & RestModel;
