import { once } from "node:events";
import type { Socket } from "node:net";
import type { FrameOpener, FrameSealer } from "./frames.ts";
import { connectionLost, InternalExchange } from "./internal-exchange.ts";

/** The largest message between gateways. A turn has at most one request body, and images as text. */
export const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

/** A host that vanished closes no connection. */
const KEEP_ALIVE_MS = 30_000;

/** The first character of a frame. JSON follows; after {@link BEGIN}, the name of the request and a space come first. */
const BEGIN = "b";
const MESSAGE = "m";
const END = "e";

/** The keys of a connection: each direction has its own. */
interface ConnectionEnds {
  readonly sealer: FrameSealer;
  readonly opener: FrameOpener;
}

type Begun = (exchange: InternalExchange, name: string, connection: InternalConnection) => void;

/**
 * A proven connection between two gateways. It carries one exchange at a time, and many after each other: a turn costs
 * neither a connection nor a proof. The gateway that has opened it begins each exchange, and the other one ends it.
 */
export class InternalConnection {
  readonly #socket: Socket;
  readonly #sealer: FrameSealer;
  readonly #opener: FrameOpener;
  /** Absent on the side that has opened the connection. */
  readonly #onBegun: Begun | undefined;
  #exchange: InternalExchange | undefined;
  #onOver: (() => void) | undefined;

  constructor(socket: Socket, { sealer, opener }: ConnectionEnds, onBegun?: Begun) {
    this.#socket = socket;
    this.#sealer = sealer;
    this.#opener = opener;
    this.#onBegun = onBegun;
    socket.setTimeout(0).setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on("error", () => {});
    socket.on("end", () => socket.destroy());
    socket.on("timeout", () => socket.destroy());
    socket.on("close", () => this.#exchange?.lose());
    socket.on("data", (chunk) => this.#receive(chunk));
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** True if no exchange is under way. */
  get isIdle(): boolean {
    return this.#exchange === undefined;
  }

  onClose(listener: () => void): void {
    this.#socket.once("close", listener);
  }

  /** Begins an exchange. `onOver` is called when the connection can carry another one. */
  begin(name: string, first: unknown, onOver: () => void): InternalExchange {
    this.#socket.setTimeout(0);
    this.#exchange = new InternalExchange(this);
    this.#onOver = onOver;
    this.#send(`${BEGIN}${name} ${JSON.stringify(first)}`).catch(() => {});
    return this.#exchange;
  }

  /** Ends the exchange that the other gateway has begun. */
  finish(): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    exchange?.finish();
    this.sendEnd();
    this.resume();
  }

  sendMessage(message: unknown): Promise<void> {
    return this.#send(MESSAGE + JSON.stringify(message));
  }

  sendEnd(): void {
    this.#send(END).catch(() => {});
  }

  resume(): void {
    if (this.#socket.isPaused()) this.#socket.resume();
  }

  /** Closes the connection if it is idle for so long. */
  closeAfter(idleMs: number): void {
    this.#socket.setTimeout(idleMs);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  async #send(frame: string): Promise<void> {
    const socket = this.#socket;
    if (socket.destroyed) throw connectionLost();
    // Frames that are sent at the same time are one packet.
    socket.cork();
    process.nextTick(() => socket.uncork());
    if (socket.write(this.#sealer.seal(frame))) return;
    const stop = new AbortController();
    const closed = once(socket, "close", { signal: stop.signal }).then(() => {
      throw connectionLost();
    });
    try {
      await Promise.race([once(socket, "drain", { signal: stop.signal }), closed]);
    } finally {
      closed.catch(() => {});
      stop.abort();
    }
  }

  #receive(chunk: Buffer): void {
    try {
      for (const frame of this.#opener.push(chunk)) this.#take(frame);
    } catch {
      this.destroy();
    }
    if (this.#exchange?.hasUnread) this.#socket.pause();
  }

  #take(frame: string): void {
    const kind = frame[0];
    if (kind === BEGIN) this.#accept(frame);
    // What arrives after the end of an exchange comes too late.
    else if (kind === MESSAGE) this.#exchange?.receive(frame.slice(1));
    else if (this.#onBegun) this.#exchange?.receiveEnd();
    else this.#free();
  }

  #accept(frame: string): void {
    if (!this.#onBegun || this.#exchange) throw connectionLost();
    const nameEnd = frame.indexOf(" ");
    this.#exchange = new InternalExchange(this);
    this.#exchange.receive(frame.slice(nameEnd + 1));
    this.#onBegun(this.#exchange, frame.slice(1, nameEnd), this);
  }

  #free(): void {
    this.#exchange?.finish();
    this.#exchange = undefined;
    this.#onOver?.();
  }
}
