import type { ModelInfo } from "../../core/driver.ts";
import { jsonObject } from "../../wire/json.ts";

/** A model as the upstream describes it, under its name there. */
export type OpenAiModel = Omit<ModelInfo, "aliases">;

const DEFAULT_CONTEXT_TOKENS = 128_000;

type Field =
  | "id"
  | "name"
  | "context_length"
  | "context_window"
  | "max_model_len"
  | "architecture"
  | "reasoning"
  | "reasoning_efforts";

/** Parses `GET /models`. OpenAI sends only names; other servers send more, in different fields. */
export function readModels(body: unknown): readonly OpenAiModel[] {
  const list = jsonObject<"data">(body)?.data;
  return Array.isArray(list) ? list.flatMap(readModel) : [];
}

function readModel(entry: unknown): readonly OpenAiModel[] {
  const model = jsonObject<Field>(entry) ?? {};
  const { id, name, reasoning, reasoning_efforts: efforts } = model;
  if (typeof id !== "string" || id === "") return [];
  const windows = [model.context_length, model.context_window, model.max_model_len];
  const modalities = jsonObject<"input_modalities">(model.architecture)?.input_modalities;
  return [
    {
      id,
      displayName: typeof name === "string" && name !== "" ? name : id,
      contextTokens: windows.find(isWholeNumber) ?? DEFAULT_CONTEXT_TOKENS,
      supportsImages: Array.isArray(modalities) ? modalities.includes("image") : true,
      isThinking: reasoning === true,
      efforts: Array.isArray(efforts) ? efforts.filter((effort) => typeof effort === "string") : [],
    },
  ];
}

const isWholeNumber = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0;
