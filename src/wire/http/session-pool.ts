import { type WireLimits, wireLimits } from "../limits.ts";
import { H2Exchange } from "./h2-exchange.ts";
import { type HttpTransport, parseOrigin } from "./http.ts";
import { OriginSessions } from "./origin-sessions.ts";
import type { FindProxy } from "./proxy.ts";

export interface SessionPoolOptions {
  readonly limits?: Partial<WireLimits>;
  /** Certificates to trust instead of Node's own list. */
  readonly ca?: string | Buffer;
  readonly findProxy?: FindProxy;
}

/**
 * An HTTP/2 transport with one shared connection per origin, and more only if the peer's stream limit requires them.
 */
export interface SessionPool extends HttpTransport {
  stats(): PoolStats;
}

interface PoolStats {
  readonly sessions: number;
  readonly streams: number;
  /** Exchanges that wait for a connection with room. */
  readonly waiting: number;
}

export function createSessionPool(options: SessionPoolOptions = {}): SessionPool {
  const { ca, findProxy } = options;
  const limits = wireLimits(options.limits);
  const origins = new Map<string, OriginSessions>();
  let isClosed = false;

  const sessionsOf = (origin: string): OriginSessions => {
    let sessions = origins.get(origin);
    if (!sessions) {
      parseOrigin(origin);
      sessions = new OriginSessions(origin, limits, { ca, findProxy });
      origins.set(origin, sessions);
      if (isClosed) sessions.destroy();
    }
    return sessions;
  };

  return {
    open: (request, handler) => new H2Exchange(sessionsOf(request.origin), request, handler),
    connect: (origin) => sessionsOf(origin).join({ placed: () => {}, refused: () => {} }),
    async close() {
      isClosed = true;
      await Promise.all(Array.from(origins.values(), (sessions) => sessions.close()));
    },
    destroy() {
      isClosed = true;
      for (const sessions of origins.values()) sessions.destroy();
    },
    stats() {
      let [sessions, streams, waiting] = [0, 0, 0];
      for (const origin of origins.values()) {
        sessions += origin.sessions.size;
        waiting += origin.waiting;
        for (const session of origin.sessions) streams += session.streams;
      }
      return { sessions, streams, waiting };
    },
  };
}
