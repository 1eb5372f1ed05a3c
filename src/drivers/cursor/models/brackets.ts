import { ExcursorError } from "../../../core/errors.ts";
import { effortRank, isEffortParameter, sortEfforts } from "../../../core/models/effort.ts";
import type { BaseModel, Settings } from "./base-model.ts";
import { readContextSize } from "./context-size.ts";

/** Parsed parameters after a model's name, such as `[effort=high,thinking=true]`. */
export interface Brackets {
  readonly settings: Settings;
  readonly isMaxMode: boolean | undefined;
}

export function splitBrackets(name: string): { readonly base: string; readonly brackets: string | undefined } {
  const start = name.indexOf("[");
  if (start < 1 || !name.endsWith("]")) return { base: name, brackets: undefined };
  return { base: name.slice(0, start), brackets: name.slice(start + 1, -1) };
}

/** Parses brackets: the model's parameters, `max=true`, and `context=1m` (or just `1m`) for max mode. */
export function readBrackets(text: string, model: BaseModel): Brackets {
  const settings = new Map<string, string>();
  let isMaxMode: boolean | undefined;
  for (const item of text.split(",").filter((part) => part.trim() !== "")) {
    const [left = "", right] = item.split("=", 2).map((part) => part.trim());
    const [key, value] = right === undefined && readContextSize(left) ? ["context", left] : [left, right ?? "true"];
    const setting = findSetting(model, key, value);
    if (setting) settings.set(...setting);
    else isMaxMode = readMaxMode(model, key, value);
  }
  return { settings, isMaxMode };
}

/** Returns the model's own spelling of a parameter and its value. */
function findSetting(model: BaseModel, key: string, value: string): [string, string] | undefined {
  const { offered } = model;
  const isEffort = isEffortParameter(key);
  const id = [...offered.keys()].find((own) => own === key || (isEffort && isEffortParameter(own)));
  if (id === undefined) return undefined;
  const values = offered.get(id) ?? [];
  const rank = isEffort ? effortRank(value) : undefined;
  const match = values.find((own) => own === value || (rank !== undefined && effortRank(own) === rank));
  if (match !== undefined) return [id, match];
  const words = isEffort ? sortEfforts(values) : values;
  throw notOffered(model, `${key}=${value}`, `${key} can be ${words.join(", ")}`);
}

function readMaxMode(model: BaseModel, key: string, value: string): boolean {
  const { contextTokens, maxModeContextTokens = 0 } = model;
  const size = key === "context" ? readContextSize(value) : undefined;
  if (size !== undefined) {
    if (size <= contextTokens) return false;
    if (size <= maxModeContextTokens) return true;
  }
  if (key === "max" || key === "max_mode") {
    if (value === "false") return false;
    if (value === "true" && maxModeContextTokens > 0) return true;
  }
  const known = [...model.offered.keys(), ...(maxModeContextTokens > 0 ? ["max", "context"] : [])];
  const list = known.length === 0 ? "it has no parameters" : `its parameters are ${known.join(", ")}`;
  throw notOffered(model, `${key}=${value}`, list);
}

function notOffered(model: BaseModel, asked: string, offer: string): ExcursorError {
  return new ExcursorError("model_parameter_invalid", [model.displayId, asked, offer], { field: "model" });
}
