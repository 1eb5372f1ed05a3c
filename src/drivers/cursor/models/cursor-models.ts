import { unlessAborted } from "../../../core/abort-race.ts";
import type { ModelInfo } from "../../../core/driver.ts";
import { CANCELED, ExcursorError } from "../../../core/errors.ts";
import { isEffortParameter, sortEfforts } from "../../../core/models/effort.ts";
import type { AccountCredential } from "../../shared/account-credential.ts";
import type { BaseModel } from "./base-model.ts";
import { closeMatches } from "./close-matches.ts";
import { type FoundModel, findModel } from "./find-model.ts";
import type { CursorModels, EncodingKind, ResolvedModel } from "./model.ts";
import { ModelCache } from "./model-cache.ts";
import type { ModelListSource } from "./model-lists.ts";
import { resolveModel } from "./resolve-model.ts";

export interface CursorModelsOptions {
  readonly source: ModelListSource;
  readonly ttlMs?: number;
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
  /** Persists which encoding each model accepts. */
  readonly memory?: EncodingMemory;
}

interface EncodingMemory {
  get(key: string): string | undefined;
  set(key: string, value: string): void;
}

const TTL_MS = 10 * 60_000;
/** How old the list must be before an unknown name reloads it. */
const RECHECK_MS = 30_000;

export function createCursorModels(options: CursorModelsOptions): CursorModels {
  const { source, memory, ttlMs = TTL_MS, now = () => performance.now() } = options;
  const cache = new ModelCache({ source, ttlMs, now });
  const encodings = new Map<string, EncodingKind>();

  const preferredEncoding = (baseId: string): EncodingKind | undefined => {
    const kind = encodings.get(baseId) ?? memory?.get(baseId);
    return kind === "variant" || kind === "parameters" ? kind : undefined;
  };

  /** Searches a newer list for an unknown name. */
  const lookAgain = async (id: string, credential: AccountCredential): Promise<FoundModel> => {
    const { models, names } = await cache.current(credential, RECHECK_MS);
    const found = findModel(names, id);
    if (found) return found;
    throw unknownModel(models, id);
  };

  return {
    async list(credential, signal) {
      return (await unlessAborted(cache.current(credential), signal, CANCELED)).models.map(toInfo);
    },
    async resolve({ id, effort }, credential) {
      const { models, names } = await cache.any(credential);
      if (models.length === 0) return asNamed(id, effort !== undefined);
      const found = findModel(names, id) ?? (await lookAgain(id, credential));
      return resolveModel(found, effort, preferredEncoding(found.model.id));
    },
    async find(name, credential) {
      const { names } = await cache.any(credential);
      const found = findModel(names, name) ?? (await lookAgain(name, credential));
      return { ...toInfo(found.model), contextTokens: resolveModel(found, undefined, undefined).contextTokens };
    },
    remember(baseId, kind) {
      if (preferredEncoding(baseId) === kind) return;
      encodings.set(baseId, kind);
      memory?.set(baseId, kind);
    },
  };
}

function toInfo(model: BaseModel): ModelInfo {
  const { displayId: id, displayName, supportsImages, isThinking } = model;
  const [start] = model.variants;
  const usual = { model, start, named: new Map(), isMaxMode: start.isMaxMode };
  const { contextTokens } = resolveModel(usual, undefined, undefined);
  const aliases = [...model.aliases.keys()];
  return { id, displayName, aliases, contextTokens, supportsImages, isThinking, efforts: effortsOf(model) };
}

function effortsOf({ offered: offer }: BaseModel): readonly string[] {
  const offered = [...offer].find(([id]) => isEffortParameter(id))?.[1] ?? [];
  return offered.length < 2 ? [] : sortEfforts(offered);
}

/** Passes the name on unchanged, for a backend that lists no models. */
function asNamed(name: string, hasEffort: boolean): ResolvedModel {
  const modelId = name === "auto" ? "default" : name;
  const ids = { modelId, displayModelId: name, displayName: name };
  return {
    baseId: modelId,
    displayId: name,
    encodings: [{ kind: "variant", ...ids, parameters: [], maxMode: false }],
    contextTokens: 200_000,
    maxModeContextTokens: undefined,
    supportsImages: true,
    ignoresEffort: hasEffort,
    effort: undefined,
  };
}

function unknownModel(models: readonly BaseModel[], name: string): ExcursorError {
  const matches = closeMatches(models, name);
  const shown = JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
  const suggestion = matches.length === 0 ? "" : ` Did you mean ${matches.join(", ")}?`;
  return new ExcursorError("model-not-found", `This account has no model ${shown}.${suggestion}`, {
    field: "model",
    hint: "GET /v1/models and `excursor models` list the available models.",
  });
}
