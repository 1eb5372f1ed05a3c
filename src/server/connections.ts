import type { Socket } from "node:net";

const FULL = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";

export interface ConnectionUse {
  /** The connections with a request in progress. */
  busy(): ReadonlySet<Socket>;
  /** True if a request with an accepted key or token came over it. */
  isTrusted(socket: Socket): boolean;
}

/**
 * Limits the number of open connections. When the limit is reached, an idle connection is closed: the oldest that never
 * sent a valid key, else the oldest idle one. So clients without a key displace only each other (SEC-36).
 */
export class ConnectionLimit {
  readonly #max: number;
  readonly #use: ConnectionUse;
  /** Oldest first. */
  readonly #open = new Set<Socket>();

  constructor(max: number, use: ConnectionUse) {
    this.#max = max;
    this.#use = use;
  }

  /** Registers a new connection, or answers 503 if every other one is busy. */
  add(socket: Socket): void {
    if (this.#open.size >= this.#max) {
      const idlest = this.#idlest();
      if (!idlest) {
        socket.on("error", () => {}).end(FULL);
        socket.destroySoon();
        return;
      }
      idlest.destroy();
    }
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
  }

  #idlest(): Socket | undefined {
    const busy = this.#use.busy();
    let known: Socket | undefined;
    for (const socket of this.#open) {
      if (socket.destroyed || busy.has(socket)) continue;
      if (!this.#use.isTrusted(socket)) return socket;
      known ??= socket;
    }
    return known;
  }
}
