import type { RawData, WebSocket } from "ws";
import type { Limits } from "../../config/limits.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Principal } from "../../core/turn.ts";
import type { FaceModule, SocketDialect } from "../../faces/shared/face-module.ts";
import type { GatewayExchange } from "../gateway-exchange.ts";
import { parseJson } from "../read-json.ts";
import { MessageExchange } from "./message-exchange.ts";
import { SocketLink } from "./socket-link.ts";

/** Close codes of RFC 6455. The library sends those for malformed frames: 1002, 1007 and 1009. */
const CLOSE = { done: 1000, goingAway: 1001, unsupportedData: 1003, policy: 1008 } as const;

export interface SocketConnectionOptions {
  /** The request of the upgrade. */
  readonly exchange: GatewayExchange;
  readonly principal: Principal;
  readonly face: FaceModule;
  readonly dialect: SocketDialect;
  readonly limits: Limits;
  /** Runs a message as a request, with the limits, the log and the usage record of one. Never rejects. */
  readonly serve: (exchange: MessageExchange, answer: () => Promise<void>) => Promise<void>;
  /** Answers a message. Throws errors from before the answer has begun. */
  readonly answer: (exchange: MessageExchange, body: unknown) => Promise<void>;
}

/** One WebSocket: answers the client's messages, one at a time. */
export class SocketConnection {
  readonly principal: Principal;
  readonly #webSocket: WebSocket;
  readonly #options: SocketConnectionOptions;
  readonly #link: SocketLink;
  readonly #heartbeat: NodeJS.Timeout;
  #idle: NodeJS.Timeout | undefined;
  #current: MessageExchange | undefined;
  #messages = 0;
  #isLeaving = false;
  #heardAt = performance.now();

  constructor(webSocket: WebSocket, options: SocketConnectionOptions) {
    const { limits, exchange } = options;
    this.principal = options.principal;
    this.#webSocket = webSocket;
    this.#options = options;
    this.#link = new SocketLink(webSocket, exchange.request.socket, limits.stalledReaderMs);
    this.#heartbeat = setInterval(() => this.#beat(), limits.keepAliveMs).unref();
    this.#waitForMessage();
    webSocket.on("message", (data, isBinary) => void this.#receive(data, isBinary));
    webSocket.on("pong", () => this.#hear());
    // The library closes the connection with the code of the error.
    webSocket.on("error", () => {});
    webSocket.on("close", () => {
      clearInterval(this.#heartbeat);
      clearTimeout(this.#idle);
      this.#current?.gone();
      options.dialect.close?.();
    });
  }

  onClose(listener: () => void): void {
    this.#webSocket.on("close", listener);
  }

  /** Closes it, after the current answer if there is one. */
  leave(): void {
    this.#isLeaving = true;
    if (!this.#current) this.close(CLOSE.goingAway, "the gateway is shutting down");
  }

  /** Closes it because the key was revoked. */
  revoke(): void {
    this.close(CLOSE.policy, "the API key was revoked");
  }

  close(code: number, reason: string): void {
    this.#webSocket.close(code, reason);
  }

  terminate(): void {
    this.#webSocket.terminate();
  }

  async #receive(data: RawData, isBinary: boolean): Promise<void> {
    this.#hear();
    if (isBinary) {
      this.close(CLOSE.unsupportedData, "messages are text");
      return;
    }
    const { exchange, face, dialect, limits, serve, answer, principal } = this.#options;
    const { request, redact, bodies } = exchange;
    const id = `${exchange.id}.${++this.#messages}`;
    const message = new MessageExchange({ request, redact, bodies, id, link: this.#link, face, dialect });
    message.principal = principal;
    const busy = this.#current !== undefined;
    if (!busy) this.#begin(message);
    await serve(message, async () => {
      if (busy) throw oneAtATime();
      bodies.check(message.sender, (data as Buffer).length);
      await answer(message, parseJson(data as Buffer, limits));
    });
    if (!busy) this.#end();
    await this.#slowDown();
  }

  #begin(message: MessageExchange): void {
    this.#current = message;
    clearTimeout(this.#idle);
  }

  #end(): void {
    this.#current = undefined;
    if (this.#isLeaving) this.leave();
    else if (this.#link.isOpen) this.#waitForMessage();
  }

  #waitForMessage(): void {
    const { socketIdleMs } = this.#options.limits;
    this.#idle = setTimeout(() => this.close(CLOSE.done, "idle"), socketIdleMs).unref();
  }

  /** Reads nothing more from a client that does not read its answers. */
  async #slowDown(): Promise<void> {
    if (!this.#link.isFull || !this.#link.isOpen) return;
    this.#webSocket.pause();
    await this.#link.drained();
    this.#webSocket.resume();
  }

  #hear(): void {
    this.#heardAt = performance.now();
  }

  /** Disconnects a client that is gone without a word. Every client answers a ping. */
  #beat(): void {
    if (performance.now() - this.#heardAt > this.#options.limits.stalledReaderMs) this.terminate();
    else if (this.#link.isOpen && !this.#link.isFull) this.#webSocket.ping();
  }
}

const oneAtATime = (): ExcursorError => new ExcursorError("response_in_progress");
