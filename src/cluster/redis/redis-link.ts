import { AsyncLocalStorage } from "node:async_hooks";
import type { RedisClientOptions, RedisClientType } from "@redis/client";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Log } from "../../observe/log.ts";
import { explainRedisError, TooOld } from "./redis-errors.ts";

type None = Record<never, never>;

/** The client of the library, without modules or scripts. @public */
export type RedisClient = RedisClientType<None, None, None, 3>;

export interface RedisLinkOptions {
  /** The setting `cluster.redis`. */
  readonly url: Secret;
  readonly log: Log;
  /** How long a request waits for Redis. Default: 50 ms. */
  readonly askMs?: number | undefined;
  /** A connection without any reply for so long is opened anew. Default: 5 s. */
  readonly silenceMs?: number | undefined;
}

/** Why there is no result: Redis is away, this one reply is late, or Redis has refused the command. */
export type Missed = "away" | "late" | "refused";

/** One connection to the cluster's Redis. It never makes a request wait for a Redis that is away. */
export interface RedisLink {
  /** False if Redis does not reply or takes no writes. One late reply alone does not change this. */
  readonly isUp: boolean;
  /** Commands that had no reply in time or failed, since the start. */
  readonly failures: number;
  /**
   * Does work that needs Redis. Resolves with the result of `fallback` if Redis is away, has no reply within
   * 50 ms, or answers with an error. A command without a reply in time may still have had its effect.
   */
  ask<T>(work: (client: RedisClient) => Promise<T>, fallback: (why: Missed) => T): Promise<T>;
  /** Does the same within the time that the request which is being served has left. */
  askBriefly<T>(work: (client: RedisClient) => Promise<T>, fallback: (why: Missed) => T): Promise<T>;
  /** Serves a request. All that it asks by `askBriefly` makes it wait no longer than 50 ms in sum. */
  serveRequest<T>(serve: () => T): T;
  /** Calls the listener whenever `isUp` changes. Returns a function that ends this. */
  onChange(listener: (isUp: boolean) => void): () => void;
  /** Returns the key of a value: `excursor:v1:PART:PART`. */
  key(...parts: readonly string[]): string;
  close(): void;
}

/** How long a request waits for Redis. */
const ASK_MS = 50;

/** How long the start waits for Redis. */
const START_MS = 5000;

const PROBE_MS = 250;

/** A host that vanished closes no connection. */
const SILENCE_MS = 5000;

const MAX_RECONNECT_MS = 100;

/** Commands that wait for a reply, at most. */
const MAX_COMMANDS = 10_000;

const OLDEST_MAJOR = 7;

const PREFIX = "excursor:v1";

const CHECK_KEY = `${PREFIX}:check`;
const CHECK_MS = 5000;

/** How much longer than a request the probe waits. */
const CHECK_PATIENCE = 2;

/** Connects to Redis and checks that it can be used. Throws an error that names the setting. */
export async function openRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const { url, log, askMs = ASK_MS, silenceMs = SILENCE_MS } = options;
  const { createClient, ErrorReply } = await loadClient();
  const client: RedisClient = createClient(clientOptions(url.reveal(), silenceMs));
  let lastError: unknown;
  client.on("error", (error) => {
    lastError = error;
  });
  try {
    await checkStart(client, () => lastError);
  } catch (error) {
    client.destroy();
    throw explainRedisError(error, url.reveal());
  }
  return new ClientLink(client, log, askMs, (error) => error instanceof ErrorReply);
}

async function loadClient(): Promise<typeof import("@redis/client")> {
  try {
    return await import("@redis/client");
  } catch (cause) {
    throw new ExcursorError("missing_package", [], { cause });
  }
}

const clientOptions = (url: string, silenceMs: number): RedisClientOptions<None, None, None, 3> => ({
  url,
  name: "excursor",
  RESP: 3,
  disableOfflineQueue: true,
  commandsQueueMaxLength: MAX_COMMANDS,
  disableClientInfo: true,
  maintNotifications: "disabled",
  socket: {
    connectTimeout: START_MS,
    socketTimeout: silenceMs,
    reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, MAX_RECONNECT_MS),
  },
});

/** Waits until Redis replies. A wrong password is not waited for. */
async function checkStart(client: RedisClient, lastError: () => unknown): Promise<void> {
  const timeout = AbortSignal.timeout(START_MS);
  const failed = new Promise<never>((_, reject) => {
    client.on("error", (error) => {
      if (error instanceof Error && isRefusal(error.message)) reject(error);
    });
    timeout.addEventListener("abort", () => reject(lastError() ?? new Error("no reply")), { once: true });
  });
  await Promise.race([client.connect().then(() => checkServer(client)), failed]);
}

/** Errors that another attempt does not change. */
const isRefusal = (message: string): boolean => /^(?:WRONGPASS|NOAUTH|NOPERM|ERR|DENIED)\b/.test(message);

/** Replies of a Redis that cannot take writes now: it is full, a replica, without its disk, or still loading. */
const isUnable = (message: string): boolean =>
  /^(?:OOM|READONLY|MISCONF|LOADING|MASTERDOWN|NOREPLICAS|BUSY)\b/.test(message);

/** Checks the version, and that the user may write our keys. */
async function checkServer(client: RedisClient): Promise<void> {
  const hello = (await client.sendCommand(["HELLO"])) as unknown as Readonly<Record<string, unknown>>;
  const version = String(hello["version"] ?? "");
  if (!(Number.parseInt(version, 10) >= OLDEST_MAJOR)) throw new TooOld(version);
  await writeCheck(client);
}

const writeCheck = (client: RedisClient): Promise<unknown> =>
  client.set(CHECK_KEY, "1", { expiration: { type: "PX", value: CHECK_MS } });

class ClientLink implements RedisLink {
  readonly #client: RedisClient;
  readonly #log: Log;
  readonly #askMs: number;
  readonly #listeners = new Set<(isUp: boolean) => void>();
  readonly #probe: NodeJS.Timeout;
  readonly #isReply: (error: unknown) => error is Error;
  /** How long the request that is being served may still wait. */
  readonly #patience = new AsyncLocalStorage<{ leftMs: number }>();
  #isUp = true;
  #isProbing = false;
  #failures = 0;

  /** `isReply` tells an error that Redis sent from a connection that broke. */
  constructor(client: RedisClient, log: Log, askMs: number, isReply: (error: unknown) => error is Error) {
    this.#client = client;
    this.#askMs = askMs;
    this.#log = log;
    this.#isReply = isReply;
    client.on("error", () => this.#change(false));
    // A dead machine closes no connection: only a probe tells.
    this.#probe = setInterval(() => void this.#check(), PROBE_MS).unref();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get failures(): number {
    return this.#failures;
  }

  ask<T>(work: (client: RedisClient) => Promise<T>, fallback: (why: Missed) => T): Promise<T> {
    return this.#ask(work, fallback, this.#askMs);
  }

  async askBriefly<T>(work: (client: RedisClient) => Promise<T>, fallback: (why: Missed) => T): Promise<T> {
    const patience = this.#patience.getStore();
    if (!patience) return this.ask(work, fallback);
    if (patience.leftMs <= 0) return fallback("away");
    const begunAt = performance.now();
    const onMissed = (why: Missed): T => {
      if (why === "late") patience.leftMs = 0;
      return fallback(why);
    };
    try {
      return await this.#ask(work, onMissed, patience.leftMs);
    } finally {
      patience.leftMs -= performance.now() - begunAt;
    }
  }

  serveRequest<T>(serve: () => T): T {
    return this.#patience.run({ leftMs: this.#askMs }, serve);
  }

  async #ask<T>(work: (client: RedisClient) => Promise<T>, fallback: (why: Missed) => T, waitMs: number): Promise<T> {
    if (!this.#isUp) return fallback("away");
    const result = await inTime(() => work(this.#client), waitMs);
    if (result.type === "value") return result.value;
    this.#failures++;
    if (result.type === "late") {
      // The command may have been slow, or this process busy.
      void this.#check();
      return fallback("late");
    }
    if (this.#isReply(result.error) && !isUnable(result.error.message)) {
      this.#log.warn({ cause: result.error.message }, "The cluster's Redis refused a command.");
      return fallback("refused");
    }
    this.#change(false, result);
    void this.#check();
    return fallback("away");
  }

  onChange(listener: (isUp: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  key(...parts: readonly string[]): string {
    return [PREFIX, ...parts].join(":");
  }

  close(): void {
    clearInterval(this.#probe);
    this.#listeners.clear();
    this.#client.removeAllListeners("error");
    this.#client.on("error", () => {});
    if (this.#client.isOpen) this.#client.destroy();
  }

  /** Checks by a write: a Redis that is full or a replica replies to everything else. */
  async #check(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    const written = writeCheck(this.#client);
    const result = await inTime(() => written, CHECK_PATIENCE * this.#askMs);
    this.#change(result.type === "value", result);
    if (result.type === "late") await written.catch(() => {});
    this.#isProbing = false;
    if (result.type === "late") await this.#check();
  }

  #change(isUp: boolean, why?: InTime<unknown>): void {
    if (this.#isUp === isUp) return;
    this.#isUp = isUp;
    if (isUp) this.#log.info({}, "The cluster's Redis replies again.");
    else {
      const refusal = why?.type === "failed" && this.#isReply(why.error) ? why.error.message : undefined;
      this.#log.warn(
        refusal === undefined ? {} : { cause: refusal },
        `The cluster's Redis ${refusal === undefined ? "does not reply" : "takes no writes"}. Requests continue with what this gateway knows.`,
      );
    }
    for (const listener of this.#listeners) listener(isUp);
  }
}

type InTime<T> =
  | { readonly type: "value"; readonly value: T }
  | { readonly type: "late" }
  | { readonly type: "failed"; readonly error: unknown };

/** Waits for work no longer than this. */
function inTime<T>(work: () => Promise<T>, ms: number): Promise<InTime<T>> {
  return new Promise((resolve) => {
    // A reply that arrived while this process was busy is read between the timer and the immediate.
    const timer = setTimeout(() => setImmediate(() => resolve({ type: "late" })), ms);
    const settle = (result: InTime<T>) => {
      clearTimeout(timer);
      resolve(result);
    };
    work().then(
      (value) => settle({ type: "value", value }),
      (error: unknown) => settle({ type: "failed", error }),
    );
  });
}
