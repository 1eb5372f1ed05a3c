import { createHmac } from "node:crypto";
import type { Secret } from "../../core/secret.ts";
import type { RedisLink } from "../redis/redis-link.ts";

const TTL_MS = 60 * 60_000;

/** Messages that opened runs of our own models on any gateway. Redis has no more of them than a keyed digest. */
export class KnownMessages {
  readonly #link: RedisLink;
  readonly #secret: Secret;

  constructor(link: RedisLink, secret: Secret) {
    this.#link = link;
    this.#secret = secret;
  }

  add(digest: string): void {
    void this.#link.ask<unknown>(
      (client) => client.set(this.#key(digest), "1", { expiration: { type: "PX", value: TTL_MS } }),
      () => undefined,
    );
  }

  /** True while Redis is away: any message may be one. */
  has(digest: string): Promise<boolean> {
    return this.#link.askBriefly(
      async (client) => (await client.exists(this.#key(digest))) === 1,
      () => true,
    );
  }

  #key(digest: string): string {
    return this.#link.key("message", createHmac("sha256", this.#secret.reveal()).update(digest).digest("base64url"));
  }
}
