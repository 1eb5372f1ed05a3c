import type { RedisLink } from "./redis-link.ts";

const TTL_MS = 60 * 60_000;

/** Digests of messages that opened runs of our own models on any gateway. */
export class KnownMessages {
  readonly #link: RedisLink;

  constructor(link: RedisLink) {
    this.#link = link;
  }

  add(digest: string): void {
    void this.#link.ask<unknown>(
      (client) => client.set(this.#key(digest), "1", { expiration: { type: "PX", value: TTL_MS } }),
      () => undefined,
    );
  }

  /** True while Redis is away: any message may be one. */
  has(digest: string): Promise<boolean> {
    return this.#link.ask(
      async (client) => (await client.exists(this.#key(digest))) === 1,
      () => true,
    );
  }

  #key(digest: string): string {
    return this.#link.key("message", digest);
  }
}
