import { effortRank, isEffortParameter } from "../../../core/models/effort.ts";
import { type BaseModel, parameterValue, type Settings, settingsOf, type Variant } from "./base-model.ts";
import { closestVariant } from "./closest-variant.ts";
import { readContextSize } from "./context-size.ts";
import type { FoundModel } from "./find-model.ts";
import type { EncodingKind, ModelEncoding, ResolvedModel } from "./model.ts";

/** Returns what to send for a model. Its name takes precedence over the separate effort. */
export function resolveModel(
  { model, start, named, isMaxMode: wantsMaxMode }: FoundModel,
  effort: string | undefined,
  preferred: EncodingKind | undefined,
): ResolvedModel {
  const settings = new Map(settingsOf(start.parameters));
  for (const [id, value] of effortSettings(model, effort)) settings.set(id, value);
  for (const [id, value] of named) settings.set(id, value);
  const isMaxMode = wantsMaxMode || model.needsMaxMode;
  const variant = closestVariant(model.variants, {
    settings,
    named: new Set(named.keys()),
    isMaxMode: named.has("context") ? undefined : isMaxMode,
  });
  const maxMode = isMaxMode || variant.isMaxMode;
  return {
    baseId: model.id,
    displayId: model.displayId,
    encodings: encodingsOf(model, variant, maxMode, preferred),
    contextTokens: contextTokensOf(model, variant, maxMode),
    maxModeContextTokens: model.maxModeContextTokens,
    supportsImages: model.supportsImages,
    ignoresEffort: effort !== undefined && !hasEffort(variant, effort),
    effort: effortOf(variant) ?? (parameterValue(variant, "thinking") === "true" ? effort : undefined),
  };
}

const effortOf = (variant: Variant): string | undefined =>
  variant.parameters.find(({ id }) => isEffortParameter(id))?.value;

/** Returns whether a variant has this effort. One with only a thinking flag has any effort but `none`. */
function hasEffort(variant: Variant, effort: string): boolean {
  const thinks = parameterValue(variant, "thinking");
  if (effort === "none" && thinks === "false") return true;
  const own = effortOf(variant);
  if (own === undefined) return effort !== "none" && thinks === "true";
  return effortRank(own) === effortRank(effort);
}

/** Converts an effort to parameters: thinking off for `none` if possible, on for all others. */
function effortSettings(model: BaseModel, effort: string | undefined): Settings {
  const settings = new Map<string, string>();
  if (effort === undefined) return settings;
  const { offered } = model;
  const parameter = [...offered.keys()].find(isEffortParameter);
  const isOff = effort === "none";
  const canBeOff = offered.get("thinking")?.includes("false") ?? false;
  const isNoneOffered = parameter !== undefined && offered.get(parameter)?.includes("none");
  if (offered.has("thinking")) settings.set("thinking", String(!isOff));
  if (parameter !== undefined && (!isOff || isNoneOffered || !canBeOff)) settings.set(parameter, effort);
  return settings;
}

function encodingsOf(
  model: BaseModel,
  { wire, parameters }: Variant,
  maxMode: boolean,
  preferred: EncodingKind | undefined,
): readonly [ModelEncoding, ModelEncoding?] {
  const { id: modelId, displayId: displayModelId, displayName } = model;
  const byParameters = { kind: "parameters", modelId, displayModelId, displayName, parameters, maxMode } as const;
  const byId = wire && ({ kind: "variant", ...wire, parameters: [], maxMode } as const);
  if (!byId) return [byParameters];
  // Without parameters and under its own name, both encodings are the same.
  const isSame = parameters.length === 0 && byId.modelId === modelId;
  if (isSame || !model.hasParameters) return [byId];
  return preferred === "parameters" ? [byParameters, byId] : [byId, byParameters];
}

function contextTokensOf(model: BaseModel, variant: Variant, maxMode: boolean): number {
  const own = readContextSize(parameterValue(variant, "context") ?? "");
  return own ?? (maxMode ? model.maxModeContextTokens : undefined) ?? model.contextTokens;
}
