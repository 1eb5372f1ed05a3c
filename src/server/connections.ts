import type { Socket } from "node:net";
import { Roster } from "./roster.ts";

interface Connection {
  readonly socket: Socket;
  /** Counts up from connection to connection. */
  readonly order: number;
}

const FULL = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n";

/**
 * Holds the number of open connections. When there are too many, one that waits for nothing makes room: first the oldest
 * that was never answered anything, then the oldest between two requests. Whoever opens many and says nothing so
 * only pushes out its own (SEC-36).
 */
export class Connections {
  readonly #max: number;
  readonly #busy: () => ReadonlySet<Socket>;
  readonly #open = new Roster<Connection>();
  #order = 0;

  /** `busy` tells the connections whose requests are being answered. */
  constructor(max: number, busy: () => ReadonlySet<Socket>) {
    this.#max = max;
    this.#busy = busy;
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
    const leave = this.#open.join({ socket, order: this.#order++ });
    socket.once("close", leave);
  }

  #idlest(): Socket | undefined {
    const busy = this.#busy();
    let best: Connection | undefined;
    for (const connection of this.#open) {
      if (connection.socket.destroyed || busy.has(connection.socket)) continue;
      if (!best || isBefore(connection, best)) best = connection;
    }
    return best?.socket;
  }
}

function isBefore(a: Connection, b: Connection): boolean {
  const [isSilent, isOtherSilent] = [a, b].map(({ socket }) => socket.bytesWritten === 0);
  return isSilent === isOtherSilent ? a.order < b.order : isSilent === true;
}
