import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { ExcursorError } from "../../core/errors.ts";
import type { WireLimits } from "../limits.ts";
import { type HttpExchange, type HttpHandler, type HttpRequest, parseOrigin, plainHeaders } from "./http.ts";
import { connectionClosed, connectTimeout, fromNodeError } from "./network-errors.ts";

export type Agents = Readonly<Record<"http:" | "https:", Agent>>;

/** One HTTP/1.1 request on a socket of the agent. Aborting it closes the socket. */
export class H1Exchange implements HttpExchange {
  readonly #url: URL;
  readonly #request: HttpRequest;
  readonly #handler: HttpHandler;
  readonly #limits: WireLimits;
  readonly #onOver: () => void;
  #outgoing: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #isPaused = false;
  #isConnected = false;
  #isOver = false;

  constructor(request: HttpRequest, handler: HttpHandler, limits: WireLimits, onOver: () => void) {
    this.#url = parseOrigin(request.origin);
    this.#request = request;
    this.#handler = handler;
    this.#limits = limits;
    this.#onOver = onOver;
  }

  start(agents: Agents): void {
    const { origin, path, method = "POST", headers } = this.#request;
    const isPlain = this.#url.protocol === "http:";
    let outgoing: ClientRequest;
    try {
      outgoing = (isPlain ? httpRequest : httpsRequest)(this.#url, {
        path,
        method,
        headers,
        agent: agents[isPlain ? "http:" : "https:"],
        maxHeaderSize: this.#limits.maxHeaderBytes,
      });
    } catch (error) {
      process.nextTick(() => this.fail(ExcursorError.from(error), false));
      return;
    }
    this.#outgoing = outgoing;
    outgoing.setNoDelay();
    this.#watchConnecting(outgoing, isPlain ? "connect" : "secureConnect");
    outgoing.on("error", (error) => this.fail(fromNodeError(error, origin), this.#isConnected));
    outgoing.on("drain", () => {
      if (!this.#isOver) this.#handler.drain?.();
    });
    outgoing.on("response", (response) => this.#opened(response));
    // After a response, 'close' means nothing: it also comes while a complete response waits for its reader.
    outgoing.on("close", () => {
      if (!this.#response) this.fail(connectionClosed(origin), this.#isConnected);
    });
  }

  #watchConnecting(outgoing: ClientRequest, connected: "connect" | "secureConnect"): void {
    outgoing.once("socket", (socket) => {
      // `reusedSocket` does not help: it stays false if a freed socket goes to a queued request.
      if (!socket.connecting && !(socket as { readonly secureConnecting?: boolean }).secureConnecting) {
        this.#isConnected = true;
        return;
      }
      const timer = setTimeout(
        () => outgoing.destroy(connectTimeout(this.#request.origin)),
        this.#limits.connectTimeoutMs,
      ).unref();
      socket.once(connected, () => {
        this.#isConnected = true;
        clearTimeout(timer);
      });
      socket.once("close", () => clearTimeout(timer));
    });
  }

  write(chunk: Uint8Array): boolean {
    return this.#isOver || this.#outgoing?.write(chunk) !== false;
  }

  end(trailers?: Readonly<Record<string, string>>): void {
    if (this.#isOver) return;
    if (trailers) this.#outgoing?.addTrailers(trailers);
    this.#outgoing?.end();
  }

  pause(): void {
    this.#isPaused = true;
    this.#response?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#response?.resume();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#settle();
    this.#outgoing?.destroy();
  }

  fail(error: ExcursorError, reached: boolean): void {
    if (this.#isOver) return;
    this.#settle();
    this.#outgoing?.destroy();
    this.#handler.fail(error, reached);
  }

  #opened(response: IncomingMessage): void {
    this.#response = response;
    const { origin } = this.#request;
    response.on("error", (error) => this.fail(fromNodeError(error, origin), true));
    if (this.#isOver) return;
    this.#handler.head({
      status: response.statusCode ?? 0,
      headers: plainHeaders(response.headers),
      cookies: response.headers["set-cookie"],
    });
    response.on("data", (chunk: Buffer) => {
      if (!this.#isOver) this.#handler.data(chunk);
    });
    response.on("end", () => {
      if (this.#isOver) return;
      this.#settle();
      // A socket whose response ended before its request cannot be reused.
      if (!this.#outgoing?.writableEnded) this.#outgoing?.destroy();
      if (response.rawTrailers.length > 0) this.#handler.trailers?.(plainHeaders(response.trailers));
      this.#handler.end();
    });
    if (this.#isPaused) response.pause();
  }

  #settle(): void {
    this.#isOver = true;
    this.#onOver();
  }
}
