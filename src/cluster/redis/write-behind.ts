import type { Missed, RedisClient, RedisLink } from "./redis-link.ts";

export interface Write<T> {
  /** What has to be done before, such as compression. Redis is not to be waited for meanwhile. */
  readonly prepare: Promise<T>;
  /** A write that may have arrived must do no harm if it is made again. */
  readonly write: (client: RedisClient, prepared: T) => Promise<unknown>;
  /** About how much memory it needs while it waits. */
  readonly bytes: number;
  /** True if it is to be sent at once, with what waits before it. */
  readonly isUrgent?: boolean;
}

/** Writes that wait for Redis, at most. Beyond that the oldest are dropped. */
const MAX_WAITING = 10_000;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/** How often a write is made whose reply is late each time. */
const MAX_TRIES = 5;

/** Writes that are sent together, at most. */
const BATCH = 64;

/** How long a write waits for others, so that a turn costs few round trips. The end of its answer does not wait. */
const LINGER_MS = 250;

/**
 * Writes to Redis in the background, in order, so that no request waits for it. While Redis is away, writes wait in memory,
 * and are made when it is back.
 */
export class WriteBehind {
  readonly #link: RedisLink;
  readonly #stop: () => void;
  readonly #waiting: (Write<unknown> & { lateReplies: number })[] = [];
  #bytes = 0;
  #added = 0;
  /** Written or dropped. */
  #done = 0;
  #dropped = 0;
  #work: Promise<void> | undefined;
  /** Ends the waiting for more writes. */
  #hurry: () => void = () => {};

  constructor(link: RedisLink) {
    this.#link = link;
    this.#stop = link.onChange((isUp) => {
      if (!isUp) return;
      this.#begin();
      if (this.#waiting.some(({ isUrgent }) => isUrgent)) this.#hurry();
    });
  }

  /** How many writes were dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  add<T>(write: Write<T>): void {
    // A preparation that fails drops its write.
    write.prepare.catch(() => {});
    this.#waiting.push({ ...(write as Write<unknown>), lateReplies: 0 });
    this.#bytes += write.bytes;
    this.#added++;
    while (this.#waiting.length > MAX_WAITING || this.#bytes > MAX_WAITING_BYTES) {
      this.#bytes -= this.#waiting.shift()?.bytes ?? 0;
      this.#dropped++;
      this.#done++;
    }
    this.#begin();
    if (write.isUrgent) this.#hurry();
  }

  /** Resolves when everything that was added before is written, or Redis is away. It is sent at once. */
  async settled(): Promise<void> {
    const target = this.#added;
    while (this.#work && this.#done < target) {
      this.#hurry();
      await this.#work;
    }
  }

  close(): void {
    this.#stop();
    this.#hurry();
    this.#waiting.length = 0;
  }

  #begin(): void {
    if (this.#work || this.#waiting.length === 0 || !this.#link.isUp) return;
    const linger = Promise.withResolvers<void>();
    const timer = setTimeout(() => linger.resolve(), LINGER_MS);
    this.#hurry = () => {
      clearTimeout(timer);
      linger.resolve();
    };
    this.#work = linger.promise
      .then(() => this.#writeBatch())
      .finally(() => {
        this.#work = undefined;
        this.#begin();
        if (this.#waiting.some(({ isUrgent }) => isUrgent)) this.#hurry();
      });
  }

  /** Sends a batch without waiting for each reply: commands arrive in the order in which they are sent. */
  async #writeBatch(): Promise<void> {
    const batch = this.#waiting.splice(0, BATCH);
    const prepared = await Promise.allSettled(batch.map(({ prepare }) => prepare));
    const missed = await Promise.all(
      batch.map(({ write }, at) => {
        const ready = prepared[at];
        if (ready?.status !== "fulfilled") return undefined;
        return this.#link.ask<Missed | undefined>(
          (client) => write(client, ready.value).then(() => undefined),
          (why) => why,
        );
      }),
    );
    const again = batch.filter((write, at) => {
      write.lateReplies = missed[at] === "late" ? write.lateReplies + 1 : 0;
      const isGivenUp = write.lateReplies === MAX_TRIES;
      if (isGivenUp) this.#dropped++;
      // A write that Redis refuses is not made again: it would be refused again.
      return !isGivenUp && (missed[at] === "late" || missed[at] === "away");
    });
    this.#waiting.unshift(...again);
    this.#done += batch.length - again.length;
    this.#bytes -= batch.reduce((sum, { bytes }) => sum + bytes, 0);
    this.#bytes += again.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
