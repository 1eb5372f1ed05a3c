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
const LAST_MESSAGE = "l";
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
  /** While the other gateway reads slowly. */
  #drained: PromiseWithResolvers<void> | undefined;

  constructor(socket: Socket, { sealer, opener }: ConnectionEnds, onBegun?: Begun) {
    this.#socket = socket;
    this.#sealer = sealer;
    this.#opener = opener;
    this.#onBegun = onBegun;
    socket.setTimeout(0).setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on("error", () => {});
    socket.on("end", () => socket.destroy());
    socket.on("timeout", () => socket.destroy());
    socket.on("drain", () => {
      this.#drained?.resolve();
      this.#drained = undefined;
    });
    socket.on("close", () => {
      this.#drained?.reject(connectionLost());
      this.#exchange?.lose();
    });
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

  /** Ends an exchange that the other gateway has begun, unless it has ended with its last message. */
  finish(exchange: InternalExchange): void {
    if (this.#exchange !== exchange) return;
    this.#release();
    this.sendEnd();
  }

  /** After the last message the connection is free: the other gateway may begin another exchange at once. */
  sendMessage(message: unknown, isLast: boolean): Promise<void> {
    const sent = this.#send((isLast ? LAST_MESSAGE : MESSAGE) + JSON.stringify(message));
    if (isLast) this.#release();
    return sent;
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
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
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
    if (kind === MESSAGE || kind === LAST_MESSAGE) this.#exchange?.receive(frame.slice(1));
    if (kind !== END && kind !== LAST_MESSAGE) return;
    if (this.#onBegun) this.#exchange?.receiveEnd();
    else this.#free();
  }

  #accept(frame: string): void {
    if (!this.#onBegun || this.#exchange) throw connectionLost();
    const nameEnd = frame.indexOf(" ");
    this.#exchange = new InternalExchange(this);
    this.#exchange.receive(frame.slice(nameEnd + 1));
    this.#onBegun(this.#exchange, frame.slice(1, nameEnd), this);
  }

  #release(): void {
    this.#exchange?.finish();
    this.#exchange = undefined;
    this.resume();
  }

  #free(): void {
    this.#exchange?.finish();
    this.#exchange = undefined;
    this.#onOver?.();
  }
}
