import type { ModelInfo } from "../../core/driver.ts";
import { jsonObject } from "../../wire/json.ts";

export interface AnthropicModel {
  readonly id: string;
  readonly displayName: string;
  readonly contextTokens: number;
  readonly maxTokens: number | undefined;
  /** How its thinking is controlled. Undefined if the upstream does not say. */
  readonly thinking: "adaptive" | "budget" | "none" | undefined;
  readonly canDisable: boolean;
  readonly efforts: readonly string[];
  readonly supportsImages: boolean;
}

const DEFAULT_CONTEXT_TOKENS = 200_000;
const EFFORTS = ["low", "medium", "high", "xhigh", "max"];

/** Parses `GET /v1/models`. Older and compatible servers send only names. */
export function readModels(body: unknown): readonly AnthropicModel[] {
  const list = jsonObject<"data">(body)?.data;
  return Array.isArray(list) ? list.flatMap(readModel) : [];
}

function readModel(entry: unknown): readonly AnthropicModel[] {
  const { id, display_name, max_input_tokens, max_tokens, capabilities } =
    jsonObject<"id" | "display_name" | "max_input_tokens" | "max_tokens" | "capabilities">(entry) ?? {};
  if (typeof id !== "string" || id === "") return [];
  const has = (...path: string[]) => isSupported(capabilities, path);
  const thinking = has("thinking", "types", "adaptive")
    ? "adaptive"
    : has("thinking", "types", "enabled")
      ? "budget"
      : "none";
  return [
    {
      id,
      displayName: typeof display_name === "string" ? display_name : id,
      contextTokens: wholeNumber(max_input_tokens) ?? DEFAULT_CONTEXT_TOKENS,
      maxTokens: wholeNumber(max_tokens),
      thinking: jsonObject(capabilities) ? thinking : undefined,
      canDisable: has("thinking", "types", "disabled"),
      efforts: EFFORTS.filter((effort) => has("effort", effort)),
      supportsImages: jsonObject(capabilities) ? has("image_input") : true,
    },
  ];
}

function isSupported(tree: unknown, path: readonly string[]): boolean {
  const found = path.reduce((inner: unknown, name) => jsonObject<string>(inner)?.[name], tree);
  return jsonObject<"supported">(found)?.supported === true;
}

const wholeNumber = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : undefined;

export const modelInfo = (model: AnthropicModel, id: string): ModelInfo => ({
  id,
  displayName: model.displayName,
  aliases: [],
  contextTokens: model.contextTokens,
  supportsImages: model.supportsImages,
  isThinking: model.thinking === "adaptive" || model.thinking === "budget",
  efforts: model.thinking === "budget" ? ["low", "medium", "high"] : model.efforts,
});
