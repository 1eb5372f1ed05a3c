import { wireLimits } from "../limits.ts";
import { H2Exchange } from "./h2-exchange.ts";
import { type HttpTransport, parseOrigin, type TransportOptions } from "./http.ts";
import { OriginConnections } from "./origin-connections.ts";

/**
 * An HTTP/2 transport with one shared connection per origin, and more only if the peer's stream limit requires them.
 */
export interface ConnectionPool extends HttpTransport {
  stats(): PoolStats;
}

interface PoolStats {
  readonly connections: number;
  readonly streams: number;
  /** Exchanges that wait for a connection with room. */
  readonly waiting: number;
}

export function createConnectionPool(options: TransportOptions = {}): ConnectionPool {
  const { ca, findProxy } = options;
  const limits = wireLimits(options.limits);
  const origins = new Map<string, OriginConnections>();
  let isClosed = false;

  const connectionsTo = (origin: string): OriginConnections => {
    let connections = origins.get(origin);
    if (!connections) {
      parseOrigin(origin);
      connections = new OriginConnections(origin, limits, { ca, findProxy });
      origins.set(origin, connections);
      if (isClosed) connections.destroy();
    }
    return connections;
  };

  return {
    open: (request, handler) => new H2Exchange(connectionsTo(request.origin), request, handler),
    connect: (origin) => connectionsTo(origin).join({ placed: () => {}, refused: () => {} }),
    async close() {
      isClosed = true;
      await Promise.all(Array.from(origins.values(), (connections) => connections.close()));
    },
    destroy() {
      isClosed = true;
      for (const connections of origins.values()) connections.destroy();
    },
    stats() {
      let [connections, streams, waiting] = [0, 0, 0];
      for (const origin of origins.values()) {
        connections += origin.connections.size;
        waiting += origin.waiting;
        for (const connection of origin.connections) streams += connection.streams;
      }
      return { connections, streams, waiting };
    },
  };
}
