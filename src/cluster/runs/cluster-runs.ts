import { setTimeout as wait } from "node:timers/promises";
import { ExcursorError } from "../../core/errors.ts";
import type { RunHome, SplitRuns, SplitUpload, UploadOutcome } from "../../core/split-runs.ts";
import { within } from "../../core/within.ts";
import type { InternalAddress, InternalClient } from "../internal/internal-client.ts";
import { connectionLost } from "../internal/internal-exchange.ts";
import type { InternalHandler } from "../internal/internal-listener.ts";
import type { RedisLink } from "../redis/redis-link.ts";
import { RedisScript } from "../redis/redis-script.ts";
import { digest } from "../redis/stores/value-room.ts";
import type { ForwardCounts } from "../turns/forward-counts.ts";
import { decodeError, type EncodedError, encodeError } from "../turns/turn-message.ts";

/** Longer than any message of a run may wait for the run's first one. */
const REPLY_MS = 45_000;

/** A gateway that has just joined may not be known here yet. */
const FIND_TRIES = 4;
const FIND_PAUSE_MS = 250;

const TTL_MS = 60_000;
const MAX_KNOWN = 10_000;

/** KEYS: the run. ARGV: its home, how long that holds. Returns the gateways that have asked for it before. */
const OPEN = new RedisScript(`
local fields = redis.call('HKEYS', KEYS[1])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'home', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return fields`);

/** KEYS: the run. ARGV: who asks, for how long that is remembered. Returns the run's home, or false. */
const FIND = new RedisScript(`
local home = redis.call('HGET', KEYS[1], 'home')
if home then return home end
redis.call('HSET', KEYS[1], 'asked ' .. ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return false`);

/** What gateways say to each other about a run. */
type RunMessage =
  | { readonly type: "opened"; readonly requestId: string; readonly home: string }
  | { readonly type: "where"; readonly requestId: string; readonly asker: string }
  | { readonly type: "passed-on"; readonly requestId: string }
  | {
      readonly type: "upload";
      readonly requestId: string;
      readonly seqno: string;
      readonly payload: string;
      readonly authorization?: string | undefined;
    };

interface RunReply {
  readonly isHere?: boolean;
  readonly outcome?: UploadOutcome;
  readonly error?: EncodedError;
}

/** The gateways of the cluster. */
interface RunNodes {
  /** The tag of this gateway. */
  readonly tag: string;
  nodes(): readonly InternalAddress[];
  find(tag: string): Promise<InternalAddress | undefined>;
}

/**
 * Finds the homes of runs by a key in Redis, and sends messages there. While Redis is away, the gateways ask each other. A run
 * whose home is gone fails at once: its answer is cut, too, and the client begins again.
 */
export class ClusterRuns implements SplitRuns {
  readonly #link: RedisLink;
  readonly #client: InternalClient;
  readonly #nodes: RunNodes;
  readonly #counts: Pick<ForwardCounts, "add">;
  /** Tags of homes by request id, the latest last. */
  readonly #homes = new Map<string, string>();
  /** Tags of gateways that have asked this one for a run that it did not have, by request id. */
  readonly #askers = new Map<string, ReadonlySet<string>>();
  #home: RunHome | undefined;

  constructor(link: RedisLink, client: InternalClient, nodes: RunNodes, counts: Pick<ForwardCounts, "add">) {
    this.#link = link;
    this.#client = client;
    this.#nodes = nodes;
    this.#counts = counts;
  }

  serve(home: RunHome): void {
    this.#home = home;
  }

  /** Serves the requests of other gateways. */
  readonly handler: InternalHandler = async (exchange) => {
    for await (const message of exchange.messages()) {
      const reply: RunReply = await this.#hear(message as RunMessage).catch((error: unknown) => ({
        error: encodeError(ExcursorError.from(error)),
      }));
      await exchange.send(reply);
    }
  };

  opened(requestId: string): () => void {
    this.#learn(requestId, this.#nodes.tag);
    void this.#write(requestId, () =>
      this.#announce(
        requestId,
        this.#others().map(({ tag }) => tag),
      ),
    );
    const timer = setInterval(() => void this.#write(requestId), TTL_MS / 3).unref();
    return () => clearInterval(timer);
  }

  async find(requestId: string): Promise<boolean> {
    if (!this.#homes.has(requestId)) {
      let isLate = false;
      await this.#link.askBriefly<unknown>(
        async (client) => {
          const home = await FIND.run(client, [this.#key(requestId)], [this.#nodes.tag, String(TTL_MS)]);
          if (!Buffer.isBuffer(home)) return;
          this.#learn(requestId, home.toString());
          if (isLate) this.#home?.moved(requestId);
        },
        () => {
          isLate = true;
          return this.#askAll(requestId);
        },
      );
    }
    return this.isElsewhere(requestId);
  }

  isElsewhere(requestId: string): boolean {
    const home = this.#homes.get(requestId);
    return home !== undefined && home !== this.#nodes.tag;
  }

  async send(upload: SplitUpload): Promise<UploadOutcome> {
    try {
      const outcome = await this.#send(upload);
      this.#counts.add("forwarded");
      return outcome;
    } catch (error) {
      this.#counts.add("failed");
      throw error;
    }
  }

  async #send({ requestId, seqno, payload, authorization }: SplitUpload): Promise<UploadOutcome> {
    const data = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString("base64");
    const { outcome, error } = await this.#askHome({
      type: "upload",
      requestId,
      seqno: String(seqno),
      payload: data,
      authorization,
    });
    if (error) throw decodeError(error);
    return outcome === "passed-on" ? outcome : "taken";
  }

  tellPassedOn(requestId: string): void {
    this.#askHome({ type: "passed-on", requestId }).catch(() => {});
  }

  async #hear(message: RunMessage): Promise<RunReply> {
    const { requestId } = message;
    switch (message.type) {
      case "where":
        return { isHere: this.#isHere(message) };
      case "opened":
        if (this.#homes.get(requestId) === this.#nodes.tag) return {};
        this.#learn(requestId, message.home);
        this.#home?.moved(requestId);
        return {};
      case "passed-on":
        this.#home?.passedOn(requestId);
        return {};
      case "upload": {
        const { seqno, payload, authorization } = message;
        if (!this.#home) throw homeGone();
        const upload = { requestId, seqno: BigInt(seqno), payload: Buffer.from(payload, "base64"), authorization };
        const outcome = await this.#home.take(upload);
        this.#counts.add("served");
        return { outcome };
      }
    }
  }

  #isHere({ requestId, asker }: Extract<RunMessage, { type: "where" }>): boolean {
    if (this.#homes.get(requestId) === this.#nodes.tag) return true;
    keep(this.#askers, requestId, new Set([...(this.#askers.get(requestId) ?? []), asker]));
    return false;
  }

  /** Makes this gateway the home, and tells those that have asked for the run, also if Redis replies late. */
  #write(requestId: string, fallback?: () => void): Promise<void> {
    return this.#link.ask<void>(
      async (client) => {
        const fields = await OPEN.run(client, [this.#key(requestId)], [this.#nodes.tag, String(TTL_MS)]);
        const asked = (fields as readonly Buffer[])
          .map(String)
          .flatMap((field) => /^asked (.+)$/.exec(field)?.[1] ?? []);
        this.#announce(requestId, asked);
      },
      () => fallback?.(),
    );
  }

  #announce(requestId: string, tags: readonly string[]): void {
    const home = this.#nodes.tag;
    // One that Redis answered too late for has asked here.
    const asked = this.#askers.get(requestId) ?? [];
    this.#askers.delete(requestId);
    for (const tag of new Set([...asked, ...tags])) {
      if (tag !== home) this.#ask(tag, { type: "opened", requestId, home }).catch(() => {});
    }
  }

  /** Asks every other gateway for a run. */
  async #askAll(requestId: string): Promise<void> {
    const asker = this.#nodes.tag;
    const asked = this.#others().map(async ({ tag }) => {
      const { isHere } = await this.#ask(tag, { type: "where", requestId, asker });
      if (isHere) this.#learn(requestId, tag);
      else throw homeGone();
    });
    await Promise.any(asked).catch(() => {});
  }

  #others(): readonly InternalAddress[] {
    return this.#nodes.nodes().filter(({ tag }) => tag !== this.#nodes.tag);
  }

  #askHome(message: RunMessage): Promise<RunReply> {
    return this.#ask(this.#homes.get(message.requestId) ?? "", message);
  }

  async #ask(tag: string, message: RunMessage): Promise<RunReply> {
    const node = await this.#nodeOf(tag);
    const exchange = await this.#client.open(node, "run", message);
    exchange.end();
    const replies = await within(Array.fromAsync(exchange.messages()), REPLY_MS, () => {
      exchange.destroy();
      throw connectionLost();
    });
    return (replies[0] ?? {}) as RunReply;
  }

  async #nodeOf(tag: string): Promise<InternalAddress> {
    for (let tries = 0; tries < FIND_TRIES; tries++) {
      if (tries > 0) await wait(FIND_PAUSE_MS);
      const node = await this.#nodes.find(tag);
      if (node) return node;
    }
    throw homeGone();
  }

  #learn(requestId: string, home: string): void {
    keep(this.#homes, requestId, home);
  }

  #key(requestId: string): string {
    return this.#link.key("run", digest(requestId));
  }
}

/** Adds an entry as the latest one. The oldest is dropped if there are too many. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_KNOWN && oldest !== undefined) map.delete(oldest);
}

const homeGone = (): ExcursorError => new ExcursorError("cluster_home_gone");
