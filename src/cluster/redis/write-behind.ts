import type { Missed, RedisClient, RedisLink } from "./redis-link.ts";

export interface Write {
  /** A write that may have arrived must do no harm if it is made again. */
  readonly write: (client: RedisClient) => Promise<unknown>;
  /** About how much memory it needs while it waits. */
  readonly bytes: number;
}

/** Writes that wait for Redis, at most. Beyond that the oldest are dropped. */
const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** How often a write is made whose reply is late each time. */
const MAX_TRIES = 5;

/** Writes that are sent together, at most. */
const BATCH = 64;

interface Waiting extends Write {
  tries: number;
  readonly resolve: () => void;
}

/**
 * Writes to Redis in the background, in order, so that no request waits for it. While Redis is away, writes wait in memory,
 * and are made when it is back.
 */
export class WriteBehind {
  readonly #link: RedisLink;
  readonly #stop: () => void;
  #waiting: Waiting[] = [];
  #bytes = 0;
  #work: Promise<void> | undefined;

  constructor(link: RedisLink) {
    this.#link = link;
    this.#stop = link.onChange((isUp) => {
      if (isUp) this.#begin();
      else for (const { resolve } of this.#waiting) resolve();
    });
  }

  /** Resolves when it is written or dropped, or Redis is away. */
  add(write: Write): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ ...write, tries: 0, resolve });
    this.#bytes += write.bytes;
    while (this.#waiting.length > MAX_WAITING || this.#bytes > MAX_WAITING_BYTES) this.#drop();
    if (!this.#link.isUp) resolve();
    this.#begin();
    return promise;
  }

  /** Resolves when everything that was added before is written or dropped, or Redis is away. */
  async settled(): Promise<void> {
    await this.add({ bytes: 0, write: async () => {} });
  }

  close(): void {
    this.#stop();
    for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  #drop(): void {
    const oldest = this.#waiting.shift();
    this.#bytes -= oldest?.bytes ?? 0;
    oldest?.resolve();
  }

  #begin(): void {
    if (this.#work || this.#waiting.length === 0 || !this.#link.isUp) return;
    // What one turn of the event loop writes is sent together.
    this.#work = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => this.#writeBatch())
      .finally(() => {
        this.#work = undefined;
        this.#begin();
      });
  }

  /** Sends a batch without waiting for each reply: commands arrive in the order in which they are sent. */
  async #writeBatch(): Promise<void> {
    const batch = this.#waiting.splice(0, BATCH);
    const missed = await Promise.all(
      batch.map(({ write }) =>
        this.#link.ask<Missed | undefined>(
          (client) => write(client).then(() => undefined),
          (why) => why,
        ),
      ),
    );
    const again = batch.filter((one, at) => {
      if (missed[at] === "late") one.tries++;
      // A write that Redis refuses is not made again: it would be refused again.
      const isMadeAgain = missed[at] === "away" || (missed[at] === "late" && one.tries < MAX_TRIES);
      if (!isMadeAgain) this.#bytes -= one.bytes;
      if (!isMadeAgain || missed[at] === "away") one.resolve();
      return isMadeAgain;
    });
    this.#waiting = [...again, ...this.#waiting];
  }
}
