import { setTimeout as wait } from "node:timers/promises";
import type { RedisClientOptions, RedisClientType } from "@redis/client";
import { z } from "zod";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Log } from "../../observe/log.ts";
import { explainRedisError, isRefusal, isUnable, TooOld } from "./redis-errors.ts";

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
  /** How long the start waits for a Redis that does not reply or takes no writes. Default: 60 s. */
  readonly patienceMs?: number | undefined;
  /** Called once if the start has to wait. */
  readonly onWait?: (() => void) | undefined;
}

/** Why there is no result: Redis is away, this one reply is late, or Redis has refused the command. */
export type Missed = "away" | "late" | "refused";

/** One connection to the cluster's Redis. It never makes a request wait for a Redis that is away. */
export interface RedisLink {
  /** False if Redis does not reply or takes no writes. One late reply alone does not change this. */
  readonly isUp: boolean;
  /** How long Redis has been back. Until then others may not have written what they kept for it. */
  readonly backForMs: number;
  /** Commands that had no reply in time or failed, since the start. */
  readonly failures: number;
  /**
   * Does work that needs Redis. Resolves with the result of `fallback` if Redis is away, has no reply in time, or answers with
   * an error. A command without a reply in time may still have had its effect.
   */
  ask<T>(work: (client: RedisClient) => Promise<T>, fallback: (why: Missed) => T): Promise<T>;
  /** Calls the listener whenever `isUp` changes. Returns a function that ends this. */
  onChange(listener: (isUp: boolean) => void): () => void;
  /** Tells all gateways, this one included, as far as they are connected. Nobody waits for it. */
  tell(news: News): void;
  /** Calls the listener with what gateways tell of this kind. */
  onNews<Type extends News["type"]>(type: Type, listener: (news: Extract<News, { readonly type: Type }>) => void): void;
  /** Warns of a value that somebody damaged or another version wrote, once for each kind. */
  reportDamaged(kind: string): void;
  /** Returns the key of a value: `excursor:v1:PART:PART`. */
  key(...parts: readonly string[]): string;
  close(): void;
}

/** What a gateway tells the others: a run was replayed by it, a stored answer was deleted, the register of keys has changed. */
const NewsSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ended"), principalId: z.string(), id: z.string() }),
  z.object({ type: z.literal("deleted"), principalId: z.string(), id: z.string() }),
  z.object({ type: z.literal("keys") }),
]);
type News = z.infer<typeof NewsSchema>;

/** How long a request waits for Redis. */
const ASK_MS = 50;

/** How long one attempt to connect may take, and the pause until the next one. */
const ATTEMPT_MS = 2000;
const PAUSE_MS = 250;
const PATIENCE_MS = 60_000;

/** How often it is looked whether a Redis that is away is back. */
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

/**
 * Connects to Redis and checks that it can be used. Waits for one that does not reply or takes no writes, and gives up with
 * `busy`. What waiting does not change throws an error that names the setting.
 */
export async function openRedisLink(options: RedisLinkOptions): Promise<RedisLink> {
  const { url, log, askMs = ASK_MS, patienceMs = PATIENCE_MS, onWait } = options;
  const { createClient, ErrorReply } = await loadClient();
  const deadline = performance.now() + patienceMs;
  for (let isFirst = true; ; isFirst = false) {
    let isStarted = false;
    const client: RedisClient = createClient(clientOptions(options, () => isStarted));
    // The first error tells more than those that follow from it.
    let cause: unknown;
    client.on("error", (error) => {
      cause ??= error;
    });
    try {
      await Promise.race([
        connect(client),
        wait(ATTEMPT_MS, undefined, { ref: false }).then(() => Promise.reject(LATE)),
      ]);
      isStarted = true;
      const link = new ClientLink(client, log, askMs, (error) => error instanceof ErrorReply);
      await link.listen();
      return link;
    } catch (error) {
      client.destroy();
      cause ??= error;
    }
    if (isRefusal(cause) || performance.now() + PAUSE_MS > deadline) throw explainRedisError(cause, url.reveal());
    if (isFirst) onWait?.();
    await wait(PAUSE_MS);
  }
}

const LATE = new Error("no reply");

async function loadClient(): Promise<typeof import("@redis/client")> {
  try {
    return await import("@redis/client");
  } catch (cause) {
    throw new ExcursorError("missing_package", [], { cause });
  }
}

const clientOptions = (
  { url, silenceMs = SILENCE_MS }: RedisLinkOptions,
  isStarted: () => boolean,
): RedisClientOptions<None, None, None, 3> => ({
  url: url.reveal(),
  name: "excursor",
  RESP: 3,
  disableOfflineQueue: true,
  commandsQueueMaxLength: MAX_COMMANDS,
  disableClientInfo: true,
  maintNotifications: "disabled",
  socket: {
    connectTimeout: ATTEMPT_MS,
    socketTimeout: silenceMs,
    reconnectStrategy: (retries) => isStarted() && Math.min(50 * 2 ** retries, MAX_RECONNECT_MS),
  },
});

/** Checks the version, and that the user may write our keys. */
async function connect(client: RedisClient): Promise<void> {
  await client.connect();
  const hello = (await client.sendCommand(["HELLO"])) as unknown as Readonly<Record<string, unknown>>;
  const version = String(hello["version"] ?? "");
  if (!(Number.parseInt(version, 10) >= OLDEST_MAJOR)) throw new TooOld(version);
  await writeCheck(client);
}

const writeCheck = (client: RedisClient): Promise<unknown> =>
  client.set(CHECK_KEY, "1", { expiration: { type: "PX", value: CHECK_MS } });

/** Asks again if the reply is late, where "not there" would be wrong. */
export async function askAgain<T>(
  link: Pick<RedisLink, "ask">,
  work: (client: RedisClient) => Promise<T>,
): Promise<T | Missed> {
  const first = await link.ask<T | Missed>(work, (why) => why);
  return first === "late" ? link.ask<T | Missed>(work, (why) => why) : first;
}

class ClientLink implements RedisLink {
  readonly #client: RedisClient;
  readonly #log: Log;
  readonly #askMs: number;
  readonly #listeners = new Set<(isUp: boolean) => void>();
  readonly #newsListeners = new Map<string, ((news: News) => void)[]>();
  readonly #reported = new Set<string>();
  readonly #probe: NodeJS.Timeout;
  readonly #isReply: (error: unknown) => error is Error;
  #isUp = true;
  #backAt = Number.NEGATIVE_INFINITY;
  #isProbing = false;
  #failures = 0;

  /** `isReply` tells an error that Redis sent from a connection that broke. */
  constructor(client: RedisClient, log: Log, askMs: number, isReply: (error: unknown) => error is Error) {
    this.#client = client;
    this.#askMs = askMs;
    this.#log = log;
    this.#isReply = isReply;
    client.on("error", () => this.#change(false));
    this.#probe = setInterval(() => !this.#isUp && void this.#check(), PROBE_MS).unref();
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  get backForMs(): number {
    return performance.now() - this.#backAt;
  }

  get failures(): number {
    return this.#failures;
  }

  async ask<T>(work: (client: RedisClient) => Promise<T>, fallback: (why: Missed) => T): Promise<T> {
    if (!this.#isUp) return fallback("away");
    const result = await inTime(() => work(this.#client), this.#askMs);
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
    return fallback("away");
  }

  onChange(listener: (isUp: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Begins to hear what gateways tell. The client does so again on each new connection. */
  async listen(): Promise<void> {
    await this.#client.subscribe(this.key("news"), (json) => {
      const news = parseNews(json);
      if (!news) this.reportDamaged("news");
      else for (const listener of this.#newsListeners.get(news.type) ?? []) listener(news);
    });
  }

  tell(news: News): void {
    void this.ask(
      (client) => client.publish(this.key("news"), JSON.stringify(news)),
      () => 0,
    );
  }

  onNews<Type extends News["type"]>(
    type: Type,
    listener: (news: Extract<News, { readonly type: Type }>) => void,
  ): void {
    const known = this.#newsListeners.get(type) ?? [];
    this.#newsListeners.set(type, [...known, listener as (news: News) => void]);
  }

  reportDamaged(kind: string): void {
    if (this.#reported.has(kind)) return;
    this.#reported.add(kind);
    this.#log.warn(
      { kind },
      `The cluster's Redis has a value that this version cannot read (${kind}). It is treated as if it were not there.`,
    );
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
  }

  #change(isUp: boolean, why?: InTime<unknown>): void {
    if (this.#isUp === isUp) return;
    this.#isUp = isUp;
    if (isUp) this.#backAt = performance.now();
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

/** Undefined if it is none that this version knows. */
function parseNews(json: string): News | undefined {
  try {
    return NewsSchema.parse(JSON.parse(json));
  } catch {
    return undefined;
  }
}

type InTime<T> =
  | { readonly type: "value"; readonly value: T }
  | { readonly type: "late" }
  | { readonly type: "failed"; readonly error: unknown };

/** How often the time begins again because this process was busy, at most. */
const MAX_AGAIN = 4;

/**
 * Waits for work no longer than this. Time in which this process was too busy to see its timer does not count: the command was
 * sent late as well, and a reply that is counted as missing would be one that Redis has given.
 */
function inTime<T>(work: () => Promise<T>, ms: number): Promise<InTime<T>> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout;
    const wait = (again: number) => {
      const due = performance.now() + ms;
      timer = setTimeout(() => {
        if (again > 0 && performance.now() - due > ms / 5) wait(again - 1);
        // A reply that arrived while this process was busy is read between the timer and the immediate.
        else setImmediate(() => resolve({ type: "late" }));
      }, ms);
    };
    wait(MAX_AGAIN);
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
