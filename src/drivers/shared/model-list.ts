import { ExcursorError } from "../../core/errors.ts";
import { callHttp } from "../../wire/http/http-call.ts";
import { wireLimits } from "../../wire/limits.ts";
import { type ApiEndpoint, hopHeaders } from "./api/api-endpoint.ts";
import { refusedCall } from "./api/api-error.ts";

export interface ModelListOptions<Model> {
  readonly endpoint: ApiEndpoint;
  readonly path: string;
  readonly read: (body: unknown) => readonly Model[];
  /** A monotonic clock in milliseconds. */
  readonly now?: () => number;
}

const TTL_MS = 10 * 60_000;
/** After a failure. */
const RETRY_MS = 60_000;
const TIMEOUT_MS = 10_000;

/**
 * Caches an upstream's models. Concurrent callers share one request. A stale list is used if no newer one is available.
 */
export class ModelList<Model> {
  readonly #options: ModelListOptions<Model>;
  readonly #now: () => number;
  #models: readonly Model[] | undefined;
  #failure: ExcursorError | undefined;
  #dueAt = Number.NEGATIVE_INFINITY;
  #loading: Promise<void> | undefined;
  #hasTried = false;

  constructor(options: ModelListOptions<Model>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Throws if there never was a list. */
  async current(): Promise<readonly Model[]> {
    if (this.#now() >= this.#dueAt) await this.#load();
    if (this.#models) return this.#models;
    throw this.#failure ?? new ExcursorError("internal", "The upstream did not return a list of models.");
  }

  /** Returns the known models; waits only for the first attempt. Empty if the upstream lists none. */
  async known(): Promise<readonly Model[]> {
    if (this.#now() >= this.#dueAt) {
      const loading = this.#load();
      if (!this.#hasTried) await loading;
    }
    return this.#models ?? [];
  }

  #load(): Promise<void> {
    this.#loading ??= this.#ask()
      .then(
        (models) => {
          this.#models = models;
          this.#dueAt = this.#now() + TTL_MS;
        },
        (error) => {
          this.#failure = ExcursorError.from(error);
          this.#dueAt = this.#now() + RETRY_MS;
        },
      )
      .finally(() => {
        this.#hasTried = true;
        this.#loading = undefined;
      });
    return this.#loading;
  }

  async #ask(): Promise<readonly Model[]> {
    const { endpoint, path, read } = this.#options;
    const { transport, origin, basePath, headers } = endpoint;
    const { head, body } = await callHttp({
      transport,
      request: {
        origin,
        path: basePath + path,
        method: "GET",
        headers: { ...headers, ...hopHeaders(endpoint), accept: "application/json" },
      },
      limits: wireLimits(),
      timeoutMs: TIMEOUT_MS,
    });
    if (head.status !== 200) throw refusedCall(head, body, endpoint);
    try {
      return read(JSON.parse(body.toString("utf8")));
    } catch (cause) {
      throw new ExcursorError("upstream-protocol", "The upstream's list of models is not JSON.", { cause });
    }
  }
}
