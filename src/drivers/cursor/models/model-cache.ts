import { BoundedMap } from "../../../core/bounded-map.ts";
import { ExcursorError } from "../../../core/errors.ts";
import type { AccountCredential } from "../../shared/account-credential.ts";
import type { BaseModel } from "./base-model.ts";
import { buildModels } from "./build-models.ts";
import { indexNames, type NameIndex } from "./find-model.ts";
import type { ModelListSource } from "./model-lists.ts";

export interface ModelCacheOptions {
  readonly source: ModelListSource;
  readonly ttlMs: number;
  /** A monotonic clock in milliseconds. */
  now(): number;
}

export interface AccountModels {
  readonly models: readonly BaseModel[];
  readonly names: NameIndex;
}

interface Entry {
  models: AccountModels | undefined;
  loadedAt: number;
  /** The last attempt, successful or not. */
  triedAt: number;
  loading: Promise<AccountModels> | undefined;
}

const MAX_ACCOUNTS = 256;
/** Minimum time between two background refreshes. */
const RETRY_MS = 5_000;

/** Caches each account's models. Concurrent callers share one request. A stale list is better than none. */
export class ModelCache {
  readonly #options: ModelCacheOptions;
  readonly #entries = new BoundedMap<string, Entry>(MAX_ACCOUNTS);

  constructor(options: ModelCacheOptions) {
    this.#options = options;
  }

  /** Returns the cached models at once, if there are any, and refreshes stale ones in the background. */
  async any(credential: AccountCredential): Promise<AccountModels> {
    const entry = this.#entry(credential);
    if (!entry.models) return this.#load(entry, credential);
    const isTooSoon = this.#options.now() - entry.triedAt < RETRY_MS;
    if (this.#isOld(entry) && !isTooSoon) this.#load(entry, credential).catch(() => undefined);
    return entry.models;
  }

  /** Returns models no older than `maxAgeMs`, or stale ones if the backend fails. Throws if it refuses the token. */
  async current(credential: AccountCredential, maxAgeMs = this.#options.ttlMs): Promise<AccountModels> {
    const entry = this.#entry(credential);
    if (entry.models && !this.#isOld(entry, maxAgeMs)) return entry.models;
    try {
      return await this.#load(entry, credential);
    } catch (error) {
      const isRefused = ExcursorError.from(error).kind === "unauthenticated";
      if (entry.models && !isRefused) return entry.models;
      throw error;
    }
  }

  #isOld({ loadedAt }: Entry, maxAgeMs = this.#options.ttlMs): boolean {
    return this.#options.now() - loadedAt >= maxAgeMs;
  }

  #load(entry: Entry, credential: AccountCredential): Promise<AccountModels> {
    if (entry.loading) return entry.loading;
    entry.triedAt = this.#options.now();
    entry.loading = loadModels(this.#options.source, credential)
      .then((models) => {
        [entry.models, entry.loadedAt] = [models, this.#options.now()];
        return models;
      })
      .finally(() => {
        entry.loading = undefined;
        // An account without a list, such as one with a refused token, is not cached.
        if (!entry.models && this.#entries.get(credential.id) === entry) this.#entries.delete(credential.id);
      });
    return entry.loading;
  }

  /** Evicts the least recently used account. */
  #entry({ id }: AccountCredential): Entry {
    const entry = this.#entries.get(id) ?? { models: undefined, loadedAt: 0, triedAt: 0, loading: undefined };
    this.#entries.set(id, entry);
    return entry;
  }
}

/** Loads both lists; one is enough. A backend that supports neither has an empty list. */
async function loadModels(source: ModelListSource, credential: AccountCredential): Promise<AccountModels> {
  const [flat, rows] = await Promise.allSettled([source.flat(credential), source.rows(credential)]);
  if (flat.status === "rejected" && rows.status === "rejected") {
    const errors = [flat.reason, rows.reason].map(ExcursorError.from);
    const failure = errors.find(({ kind }) => kind !== "not-found" && kind !== "unsupported");
    if (failure) throw failure;
  }
  const models = buildModels({
    flat: flat.status === "fulfilled" ? flat.value : [],
    rows: rows.status === "fulfilled" ? rows.value : [],
  });
  return { models, names: indexNames(models) };
}
