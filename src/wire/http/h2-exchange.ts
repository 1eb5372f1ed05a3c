import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import { ExcursorError } from "../../core/errors.ts";
import type { H2Connection } from "./h2-connection.ts";
import { type HttpExchange, type HttpHandler, type HttpRequest, plainHeaders } from "./http.ts";
import { connectionClosed, fromNodeError, fromReset, headersTooLarge } from "./network-errors.ts";
import type { ConnectionWaiter, OriginConnections } from "./origin-connections.ts";

/** Without a connection, an exchange asks its writer to wait above this size. The default of Node streams. */
const MAX_UNSENT_BYTES = 64 * 1024;

/** A request whose body is longer than this does not move to another connection once it has begun. */
const MAX_KEPT_BYTES = 8 * 1024 * 1024;

/**
 * One HTTP/2 stream. It keeps the sent body until the response begins, so that it can move once to another connection.
 * It moves only if the peer provably ignored it: GOAWAY with a lower stream, a refused stream, or a connection closed
 * before our first frame. All other failures go to the handler.
 */
export class H2Exchange implements HttpExchange, ConnectionWaiter {
  readonly #connections: OriginConnections;
  readonly #request: HttpRequest;
  #handler: HttpHandler;
  #stream: ClientHttp2Stream | undefined;
  #connection: H2Connection | undefined;
  /** The body so far. Undefined once the response has begun. */
  #sent: Uint8Array[] | undefined = [];
  #sentBytes = 0;
  #unsentBytes = 0;
  #isEnded = false;
  #trailers: Readonly<Record<string, string>> = {};
  #isPaused = false;
  #needsDrain = false;
  #hasMoved = false;
  #isOver = false;
  /** The response is complete, and the body of the request goes on. */
  #isLingering = false;

  constructor(connections: OriginConnections, request: HttpRequest, handler: HttpHandler) {
    this.#connections = connections;
    this.#request = request;
    this.#handler = handler;
    connections.join(this);
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isOver || this.#isEnded) {
      if (this.#isLingering) this.#writeLate(chunk);
      return true;
    }
    this.#keep(chunk);
    if (!this.#stream) this.#unsentBytes += chunk.length;
    const hasRoom = this.#stream?.write(chunk) ?? this.#unsentBytes <= MAX_UNSENT_BYTES;
    if (!hasRoom && !this.#needsDrain) {
      this.#needsDrain = true;
      this.#stream?.once("drain", this.#drained);
    }
    return hasRoom;
  }

  /** Nobody waits for what comes after the response, so a peer that does not read it is left. */
  #writeLate(chunk: Uint8Array): void {
    const stream = this.#stream;
    if (!stream || this.#isEnded || stream.write(chunk) || stream.writableLength <= MAX_UNSENT_BYTES) return;
    this.#isLingering = false;
    this.#connection?.giveUp(stream);
  }

  /** Remembers a chunk for another connection. A body that is too long for that stays with its connection. */
  #keep(chunk: Uint8Array): void {
    if (this.#sent === undefined) return;
    this.#sentBytes += chunk.length;
    if (this.#stream && this.#sentBytes > MAX_KEPT_BYTES) {
      this.#hasMoved = true;
      this.#sent = [];
    } else this.#sent.push(chunk);
  }

  end(trailers?: Readonly<Record<string, string>>): void {
    if (this.#isEnded) return;
    if (trailers) this.#trailers = trailers;
    this.#isEnded = true;
    this.#stream?.end();
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#stream?.resume();
  }

  abort(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#connections.leave(this);
    if (this.#stream) this.#connection?.giveUp(this.#stream);
  }

  refused(error: ExcursorError): void {
    this.#fail(error, false);
  }

  placed(connection: H2Connection): void {
    let stream: ClientHttp2Stream;
    try {
      stream = connection.request(this.#headers(), this.#request.mayHaveTrailers);
    } catch (error) {
      process.nextTick(() => this.#notTaken(error));
      return;
    }
    this.#stream = stream;
    this.#connection = connection;
    let failure: unknown;
    stream.on("response", (headers) => {
      this.#opened(headers);
      // Not earlier: on a connection through a proxy Node would emit data before the response.
      stream.on("data", (chunk: Buffer) => {
        if (!this.#isOver) this.#handler.data(chunk);
      });
    });
    stream.on("trailers", (trailers) => {
      if (!this.#isOver) this.#handler.trailers?.(plainHeaders(trailers));
    });
    if (this.#request.mayHaveTrailers) stream.once("wantTrailers", () => stream.sendTrailers(this.#trailers));
    stream.on("end", () => {
      // A reset also ends the readable side; 'close' tells them apart.
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && this.#sent === undefined) this.#finish();
    });
    stream.on("error", (error) => {
      failure = error;
    });
    stream.on("close", () => {
      this.#closed(connection, stream, failure);
      // Node's stream lives until the next full collection (bench/README.md). Dropping the handler frees what it refers
      // to.
      if (this.#stream === stream) this.#handler = NOBODY;
    });
    if (this.#isPaused) stream.pause();
    this.#flush(stream);
  }

  /** Older Node versions throw for a connection that has just closed. Any other error means an invalid request. */
  #notTaken(error: unknown): void {
    const isConnectionGone = /^ERR_HTTP2_\w+_SESSION$/.test((error as NodeJS.ErrnoException).code ?? "");
    if (isConnectionGone) this.#move(fromNodeError(error, this.#request.origin));
    else this.#fail(ExcursorError.from(error), false);
  }

  #headers(): Readonly<Record<string, string>> {
    const { method = "POST", path, headers } = this.#request;
    return { ...headers, [constants.HTTP2_HEADER_METHOD]: method, [constants.HTTP2_HEADER_PATH]: path, te: "trailers" };
  }

  #flush(stream: ClientHttp2Stream): void {
    let hasRoom = true;
    for (const chunk of this.#sent ?? []) hasRoom = stream.write(chunk);
    if (this.#isEnded) stream.end();
    this.#unsentBytes = 0;
    if (!this.#needsDrain) return;
    if (hasRoom) process.nextTick(this.#drained);
    else stream.once("drain", this.#drained);
  }

  readonly #drained = (): void => {
    if (this.#isOver || !this.#needsDrain) return;
    this.#needsDrain = false;
    this.#handler.drain?.();
  };

  #opened(headers: IncomingHttpHeaders & { ":status"?: number | undefined }): void {
    this.#sent = undefined;
    if (this.#isOver) return;
    const plain = plainHeaders(headers);
    if (headerBytes(plain) > this.#connections.limits.maxHeaderBytes) {
      this.abort();
      this.#handler.fail(headersTooLarge(this.#connections.origin), true);
      return;
    }
    this.#handler.head({ status: headers[":status"] ?? 0, headers: plain, cookies: headers["set-cookie"] });
  }

  #closed(connection: H2Connection, stream: ClientHttp2Stream, failure: unknown): void {
    if (this.#isOver) return;
    const error = this.#explain(connection, stream, failure);
    // Delivers what a paused reader has not read: Node does not emit it any more.
    for (let chunk = stream.read(); chunk !== null && !this.#isOver; chunk = stream.read()) this.#handler.data(chunk);
    if (this.#sent !== undefined && connection.provedUnprocessed(stream)) this.#move(error);
    else this.#fail(error, true);
  }

  /** Returns the cause. The connection's error says more than those of its streams. */
  #explain(connection: H2Connection, stream: ClientHttp2Stream, failure: unknown): ExcursorError {
    if (failure instanceof ExcursorError) return failure;
    const code = (failure as NodeJS.ErrnoException | undefined)?.code;
    if (code === "ERR_HTTP2_STREAM_ERROR") return fromReset(stream.rstCode ?? 0, failure);
    if (connection.error) return connection.error;
    if (code === "ERR_HTTP2_SESSION_ERROR") return fromReset(stream.rstCode ?? 0, failure);
    if (code !== undefined) return fromNodeError(failure, this.#request.origin);
    // When a connection just ends, its streams look cancelled.
    return connection.isDestroyed ? connectionClosed(this.#request.origin) : fromReset(stream.rstCode ?? 0);
  }

  #move(error: ExcursorError): void {
    if (this.#isOver) return;
    this.#stream = undefined;
    if (this.#hasMoved) {
      this.#fail(error, false);
      return;
    }
    this.#hasMoved = true;
    this.#connections.join(this);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // The response is complete, so the rest of the request must not keep the stream open.
    const stream = this.#stream;
    this.#isLingering = this.#request.outlastsResponse === true && !this.#isEnded;
    if (!this.#isEnded && !this.#isLingering) stream?.end();
    if (stream && (this.#isLingering || stream.writableLength > 0)) {
      stream.setTimeout(this.#connections.limits.lingerMs, () => this.#connection?.giveUp(stream));
    }
    this.#handler.end();
  }

  #fail(error: ExcursorError, reached: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.fail(error, reached);
  }
}

const NOBODY: HttpHandler = { head() {}, data() {}, end() {}, fail() {} };

/** Returns the size as HTTP/2 counts it. Node accepts 64 KiB, whatever limit we announce. */
function headerBytes(headers: Readonly<Record<string, string>>): number {
  let bytes = 0;
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0) + 32;
  return bytes;
}
