import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { ExcursorError } from "../core/errors.ts";
import { type HttpExchange, type HttpHandler, type HttpRequest, type HttpTransport, plainHeaders } from "./http.ts";
import { type WireLimits, wireLimits } from "./limits.ts";
import { connectionClosed, connectTimeout, fromNodeError, transportClosed } from "./network-errors.ts";

export interface Http1Options {
  readonly limits?: Partial<WireLimits>;
  /** Certificates to trust instead of Node's own list. */
  readonly ca?: string | Buffer;
}

type Agents = Readonly<Record<"http:" | "https:", HttpAgent>>;

/** HTTP/1.1 over kept-alive sockets, of which long-lived exchanges have their own. */
export function createHttp1Transport(options: Http1Options = {}): HttpTransport {
  const limits = wireLimits(options.limits);
  const short = agents(limits.maxShortSockets, options.ca);
  const long = agents(limits.maxLongSockets, options.ca);
  const open = new Set<H1Exchange>();
  let onEmpty: (() => void) | undefined;
  let isClosed = false;

  const destroyAgents = (): void => {
    for (const { "http:": plain, "https:": tls } of [short, long]) {
      plain.destroy();
      tls.destroy();
    }
  };

  return {
    open(request, handler) {
      const exchange = new H1Exchange(request, handler, limits, () => {
        open.delete(exchange);
        if (open.size === 0) onEmpty?.();
      });
      if (isClosed) {
        process.nextTick(() => exchange.fail(transportClosed(), false));
      } else {
        open.add(exchange);
        exchange.start(request.isLongLived ? long : short);
      }
      return exchange;
    },
    async close() {
      isClosed = true;
      if (open.size > 0) await new Promise<void>((resolve) => (onEmpty = resolve));
      destroyAgents();
    },
    destroy() {
      isClosed = true;
      for (const exchange of [...open]) exchange.fail(transportClosed(), true);
      destroyAgents();
    },
  };
}

function agents(maxSockets: number, ca: string | Buffer | undefined): Agents {
  const options = { keepAlive: true, maxSockets, scheduling: "lifo" } as const;
  return { "http:": new HttpAgent(options), "https:": new HttpsAgent({ ...options, ...(ca && { ca }) }) };
}

/** One HTTP/1.1 request. Its socket belongs to the agent; giving up before the end costs the socket. */
class H1Exchange implements HttpExchange {
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
    this.#request = request;
    this.#handler = handler;
    this.#limits = limits;
    this.#onOver = onOver;
  }

  start(agents: Agents): void {
    const { origin, path, method = "POST", headers } = this.#request;
    const url = new URL(origin);
    const isPlain = url.protocol === "http:";
    let outgoing: ClientRequest;
    try {
      outgoing = (isPlain ? httpRequest : httpsRequest)(url, {
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
    // Neither a response nor an error: the request was destroyed below us.
    outgoing.on("close", () => this.fail(connectionClosed(origin), this.#isConnected));
  }

  #watchConnecting(outgoing: ClientRequest, connected: "connect" | "secureConnect"): void {
    outgoing.once("socket", (socket) => {
      if (outgoing.reusedSocket) {
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

  end(): void {
    if (!this.#isOver) this.#outgoing?.end();
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
    this.#handler.head({ status: response.statusCode ?? 0, headers: plainHeaders(response.headers) });
    response.on("data", (chunk: Buffer) => {
      if (!this.#isOver) this.#handler.data(chunk);
    });
    response.on("end", () => {
      if (this.#isOver) return;
      this.#settle();
      // An answer before the end of the question leaves a socket that nobody else can use.
      if (!this.#outgoing?.writableEnded) this.#outgoing?.destroy();
      this.#handler.end();
    });
    if (this.#isPaused) response.pause();
  }

  #settle(): void {
    this.#isOver = true;
    this.#onOver();
  }
}
