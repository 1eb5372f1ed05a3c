import type { Socket } from "node:net";

const FULL = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";

/** What the number of connections is held down by. */
export interface ConnectionUse {
  /** The connections whose requests are being answered. */
  busy(): ReadonlySet<Socket>;
  /** Whether somebody with a key has used it. */
  isTrusted(socket: Socket): boolean;
}

/**
 * Holds the number of open connections. When there are too many, one that waits for nothing makes room: first the oldest
 * that nobody with a key has used, then the oldest between two requests. Strangers so push out each other (SEC-36).
 */
export class Connections {
  readonly #max: number;
  readonly #use: ConnectionUse;
  /** In the order in which they came. */
  readonly #open = new Set<Socket>();

  constructor(max: number, use: ConnectionUse) {
    this.#max = max;
    this.#use = use;
  }

  /** Takes a new connection in, or turns it away if every other one is busy. */
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
