import type { Socket } from "node:net";
import type { WebSocket } from "ws";

/** The sending side of one WebSocket, with back-pressure. */
export class SocketLink {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #stalledMs: number;

  /** A client that reads nothing for `stalledMs` is disconnected. */
  constructor(webSocket: WebSocket, socket: Socket, stalledMs: number) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#stalledMs = stalledMs;
  }

  get isOpen(): boolean {
    return this.#webSocket.readyState === this.#webSocket.OPEN;
  }

  /** True if the client reads too slowly; await {@link drained} before the next message. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  send(message: string): void {
    if (this.isOpen) this.#webSocket.send(message);
  }

  /** Sends the data of each server-sent event as one message. Returns false if the client reads too slowly. */
  sendEvents(events: string): boolean {
    this.#socket.cork();
    for (let at = 0, start = dataAt(events, at); start !== -1; start = dataAt(events, at)) {
      const end = events.indexOf(EVENT_END, start);
      this.send(events.slice(start + DATA.length, end));
      at = end + EVENT_END.length;
    }
    this.#socket.uncork();
    return !this.isFull;
  }

  /** Resolves when the client has caught up or disconnected. */
  drained(): Promise<void> {
    const socket = this.#socket;
    return new Promise((resolve) => {
      if (socket.destroyed || !socket.writableNeedDrain) {
        resolve();
        return;
      }
      const onStalled = () => this.#webSocket.terminate();
      const goOn = () => {
        socket.setTimeout(0);
        socket.off("drain", goOn).off("close", goOn).off("timeout", onStalled);
        resolve();
      };
      // Every byte that leaves the socket restarts the timeout.
      socket.setTimeout(this.#stalledMs);
      socket.on("drain", goOn).on("close", goOn).on("timeout", onStalled);
    });
  }
}

const DATA = "\ndata: ";
const EVENT_END = "\n\n";

/** The faces write `event: NAME` and one line of data, which is JSON. */
const dataAt = (events: string, from: number): number => events.indexOf(DATA, from);
