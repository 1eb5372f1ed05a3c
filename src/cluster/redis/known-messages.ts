import type { RedisLink } from "./redis-link.ts";

const TTL_MS = 60 * 60_000;

/** Keeps digests of messages that opened runs of our own models on any gateway. */
export function createKnownMessages(link: RedisLink) {
  const keyOf = (digest: string) => link.key("message", digest);
  return {
    add(digest: string): void {
      const expiration = { type: "PX", value: TTL_MS } as const;
      void link.ask<unknown>(
        (client) => client.set(keyOf(digest), "1", { expiration }),
        () => undefined,
      );
    },
    /** True while Redis is away: any message may be one. */
    has: (digest: string): Promise<boolean> =>
      link.ask(
        async (client) => (await client.exists(keyOf(digest))) === 1,
        () => true,
      ),
  };
}
