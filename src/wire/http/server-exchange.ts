import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import {
  constants,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { ExcursorError } from "../../core/errors.ts";

/** How long a client may keep its half of a stream open after the end of the answer. */
const LINGER_MS = 5000;

export type HttpVersion = "h1" | "h2";
/** Where a connection of HTTP/2 keeps its open exchanges. */
const OPEN_EXCHANGES = Symbol("open exchanges");
type SharedSession = Http2Session & { [OPEN_EXCHANGES]?: Set<ServerExchange> };

export type ServerRequest = IncomingMessage | Http2ServerRequest;
export type ServerReply = ServerResponse | Http2ServerResponse;

/** Limits what is held of all requests, and of those of one sender. `check` throws if there is no room. */
export interface HeldBudget {
  check(sender: string, bytes: number): void;
  add(sender: string, bytes: number): void;
}

/** The sender of every request whose caller is not known. */
export const STRANGERS = "strangers";

/** How long a body that is read whole may take. */
const BODY_MS = 30_000;

/** Sees an answer as it is sent. */
export interface ReplyWatcher {
  head(status: number, headers: OutgoingHttpHeaders): void;
  data(chunk: Uint8Array): void;
}

/** One HTTP request that came to us and its answer, the same for both versions of HTTP. */
export class ServerExchange {
  readonly transport: HttpVersion;
  readonly method: string;
  /** Path and query, as they came. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: ServerRequest;
  protected readonly response: ServerReply;
  /** Whose share of the budget the request uses. Set before its body is read. */
  sender: string = STRANGERS;
  readonly #budget: HeldBudget | undefined;
  #held = 0;
  #isClosed = false;
  #drained: Promise<void> | undefined;
  /** The open exchanges of its connection of HTTP/2, this one included. */
  #onConnection: ReadonlySet<ServerExchange> | undefined;
  #hasLostBackend = false;
  #head: Parameters<ReplyWatcher["head"]> | undefined;
  #watcher: ReplyWatcher | undefined;

  /** Without a budget, what is held has no limit but its own. */
  constructor(request: ServerRequest, response: ServerReply, budget?: HeldBudget) {
    this.#budget = budget;
    this.transport = request.httpVersionMajor === 2 ? "h2" : "h1";
    this.method = request.method ?? "GET";
    this.target = request.url ?? "/";
    // By hand: a request target need not be what `URL` takes for one, and must not end the process.
    const [path = "/", query = ""] = this.target.split("?", 2);
    this.path = path;
    this.query = new URLSearchParams(query);
    this.request = request;
    this.response = response;
    // A vanished peer is an ordinary event here; without a listener it would end the process.
    request.on("error", () => {});
    response.on("error", () => {});
    response.once("close", () => {
      this.#isClosed = true;
      this.release();
    });
    this.#joinConnection();
  }

  #joinConnection(): void {
    const session: SharedSession | undefined = this.stream?.session;
    if (!session) return;
    const open = session[OPEN_EXCHANGES] ?? new Set();
    session[OPEN_EXCHANGES] = open.add(this);
    this.response.once("close", () => open.delete(this));
    this.#onConnection = open;
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(",") : value;
  }

  /** Called once when the answer is over; `wasCut` if it had not been sent to its end. */
  onOver(listener: (wasCut: boolean) => void): void {
    let isTold = false;
    const tell = () => {
      if (isTold) return;
      isTold = true;
      listener(!this.response.writableEnded);
    };
    this.response.once("finish", tell).once("close", tell);
    if (this.#isClosed) queueMicrotask(tell);
  }

  /** Counts bytes of the request that are held. Returns false if there is no room for them. */
  hold(bytes: number): boolean {
    if (this.#isClosed) return false;
    try {
      this.#budget?.check(this.sender, bytes);
    } catch {
      return false;
    }
    this.#budget?.add(this.sender, bytes);
    this.#held += bytes;
    return true;
  }

  /** So many bytes are not held any more; by default, none is. */
  release(bytes = this.#held): void {
    const released = Math.min(bytes, this.#held);
    this.#held -= released;
    if (released > 0) this.#budget?.add(this.sender, -released);
  }

  get isOver(): boolean {
    return this.#isClosed || this.response.destroyed || this.response.writableEnded;
  }

  get hasResponded(): boolean {
    return this.response.headersSent;
  }

  /** Shows the answer to `watcher`, its head also if that is out already. */
  watch(watcher: ReplyWatcher): void {
    this.#watcher = watcher;
    if (this.#head) watcher.head(...this.#head);
  }

  /**
   * True if the request says that its body is empty. Its stream need not be at its end: HAProxy 2.6 loses the end of such a
   * request over HTTP/2 if it comes while HAProxy connects to us.
   */
  get isBodyless(): boolean {
    return this.header("content-length") === "0";
  }

  /** Reads the whole body. Throws `too-large` if it has more bytes. */
  async readBody(maxBytes: number): Promise<Buffer> {
    if (this.isBodyless) {
      this.request.resume();
      return Buffer.alloc(0);
    }
    const chunks: Buffer[] = [];
    let length = 0;
    const late = this.#budget && setTimeout(() => this.reset(), BODY_MS).unref();
    try {
      for await (const chunk of this.#body()) {
        length += chunk.length;
        if (length > maxBytes) throw new ExcursorError("too-large", `The body exceeds ${maxBytes} bytes.`);
        if (!this.hold(chunk.length)) throw new ExcursorError("too_many_bodies");
        chunks.push(chunk);
      }
    } finally {
      clearTimeout(late);
    }
    return Buffer.concat(chunks);
  }

  /** Reads the body to its end and keeps nothing of it. */
  async discardBody(): Promise<void> {
    if (this.isBodyless) this.request.resume();
    else for await (const chunk of this.#body()) void chunk;
  }

  async *#body(): AsyncGenerator<Buffer> {
    try {
      yield* this.request as AsyncIterable<Buffer>;
    } catch (cause) {
      throw new ExcursorError("canceled", "The client left before the end of its request.", { cause });
    }
  }

  /** Sends the headers of an answer whose body follows. */
  open(status: number, headers: OutgoingHttpHeaders): void {
    if (this.isOver || this.hasResponded) return;
    const response = this.response as ServerResponse;
    response.writeHead(status, headers);
    response.flushHeaders();
    this.#head = [status, headers];
    this.#watcher?.head(status, headers);
  }

  /** False if the reader is behind: wait for {@link drained}. */
  write(chunk: Uint8Array): boolean {
    if (this.isOver) return true;
    this.#watcher?.data(chunk);
    return (this.response as ServerResponse).write(chunk);
  }

  /** Resolves when the reader has caught up; all who wait meanwhile share one promise. Never rejects. */
  drained(): Promise<void> {
    if (this.isOver || !this.response.writableNeedDrain) return Promise.resolve();
    this.#drained ??= new Promise((resolve) => {
      const settle = () => {
        this.response.off("drain", settle).off("close", settle);
        this.#drained = undefined;
        resolve();
      };
      this.response.on("drain", settle).on("close", settle);
    });
    return this.#drained;
  }

  /** Trailers go out with the end. */
  addTrailers(trailers: Readonly<Record<string, string>>): void {
    if (!this.isOver) (this.response as ServerResponse).addTrailers(trailers);
  }

  end(chunk?: Uint8Array): void {
    if (this.isOver) return;
    if (chunk) this.write(chunk);
    this.response.end();
    this.#dismissLingerer();
  }

  /** A client that never ends its own half would hold the stream for ever. */
  #dismissLingerer(): void {
    const stream = this.stream;
    const timer = setTimeout(() => stream?.close(constants.NGHTTP2_NO_ERROR), LINGER_MS).unref();
    this.response.once("close", () => clearTimeout(timer));
  }

  respond(status: number, body: Uint8Array | string, headers: OutgoingHttpHeaders): void {
    const bytes = Buffer.from(body);
    this.open(status, { ...headers, "content-length": String(bytes.length) });
    this.end(bytes);
  }

  respondJson(status: number, value: unknown, headers: OutgoingHttpHeaders = {}): void {
    this.respond(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
  }

  /** RST_STREAM with this code; HTTP/1.1 has only its connection to close. */
  reset(code: number = constants.NGHTTP2_INTERNAL_ERROR): void {
    if (this.stream) this.stream.close(code);
    else this.socket?.destroy();
  }

  /**
   * Passes on that the backend's connection was reset, or closed. So is the client's, unless one of its exchanges has not lost
   * its backend: then only the stream is reset. The exchanges of one lost connection say so one after the other.
   */
  loseBackend(wasReset: boolean): void {
    this.#hasLostBackend = true;
    setImmediate(() => {
      const isShared = [...(this.#onConnection ?? [])].some((exchange) => !exchange.#hasLostBackend);
      if (isShared) this.reset();
      else if (wasReset) this.resetConnection();
      else this.socket?.destroy();
    });
  }

  /** Breaks the TCP connection with an RST. */
  resetConnection(): void {
    const { socket } = this;
    try {
      socket?.resetAndDestroy();
    } catch {
      // Only a bare TCP socket can send an RST; under TLS the connection is cut.
      socket?.destroy();
    }
  }

  /** The HTTP/2 stream, where there is one. */
  protected get stream(): ServerHttp2Stream | undefined {
    const { response } = this;
    return "stream" in response ? (response.stream as ServerHttp2Stream | undefined) : undefined;
  }

  protected get socket(): Socket | undefined {
    return (this.stream?.session?.socket ?? this.response.socket ?? undefined) as Socket | undefined;
  }
}
