import { AsyncLocalStorage } from "node:async_hooks";
import type { Engine } from "../../core/engine/engine.ts";
import type { RedisLink } from "./redis-link.ts";

/**
 * Makes each turn a request of its own for {@link RedisLink.serveRequest}. Otherwise the many turns of one run of Cursor's clients
 * would share the time of one request, or have none.
 */
export function withBriefTurns<T extends Pick<Engine, "run">>(engine: T, link: Pick<RedisLink, "serveRequest">): T {
  return {
    ...engine,
    async *run(...given: Parameters<Engine["run"]>) {
      const inRequest = link.serveRequest(() => AsyncLocalStorage.snapshot());
      const events = engine.run(...given)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await inRequest(() => events.next());
          if (next.done) return;
          yield next.value;
        }
      } finally {
        await events.return?.();
      }
    },
  };
}
