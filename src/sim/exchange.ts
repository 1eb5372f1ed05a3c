import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { ConnectFailure } from "./connect-failure.ts";

/** How long a client may keep its half of a stream open after the end of the response. */
const LINGER_MS = 5000;

export type Transport = "h1" | "h2";

/** An HTTP request and its response, over HTTP/1.1 or HTTP/2, with the ways in which a response can fail. */
export class Exchange {
  readonly transport: Transport;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage | Http2ServerRequest;
  readonly #response: ServerResponse | Http2ServerResponse;
  #bytes: (chunk: Uint8Array) => boolean;
  #drained: Promise<void> | undefined;

  constructor(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) {
    this.transport = request.httpVersionMajor === 2 ? "h2" : "h1";
    this.method = request.method ?? "GET";
    // Parsed by hand: `URL` throws for some request targets.
    const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
    this.path = path;
    this.query = new URLSearchParams(query);
    this.request = request;
    this.#response = response;
    this.#bytes = (chunk) => (response as ServerResponse).write(chunk);
    // Disconnects are normal here. Without a listener the error would end the process.
    request.on("error", () => {});
    response.on("error", () => {});
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(",") : value;
  }

  /** Calls the listener once when the response is over; `wasCut` if it was not sent completely. */
  onOver(listener: (wasCut: boolean) => void): void {
    let isTold = false;
    const tell = () => {
      if (isTold) return;
      isTold = true;
      listener(!this.#response.writableEnded);
    };
    this.#response.once("finish", tell).once("close", tell);
  }

  get isOver(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  get hasResponded(): boolean {
    return this.#response.headersSent;
  }

  async readBody(maxBytes: number): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of this.request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxBytes) throw new ConnectFailure("resource_exhausted", `The body exceeds ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  open(status: number, headers: Readonly<Record<string, string>>): void {
    if (this.isOver || this.hasResponded) return;
    const response = this.#response as ServerResponse;
    response.writeHead(status, { "x-cursor-server-region": "simulated", ...headers });
    response.flushHeaders();
  }

  /** Returns false if the client reads too slowly: wait for {@link drained}. */
  write(chunk: Uint8Array): boolean {
    return this.isOver || this.#bytes(chunk);
  }

  /** Resolves when the client has caught up. Concurrent callers share the promise. */
  drained(): Promise<void> {
    if (this.isOver || !this.#response.writableNeedDrain) return Promise.resolve();
    this.#drained ??= new Promise((resolve) => {
      const settle = () => {
        this.#response.off("drain", settle).off("close", settle);
        this.#drained = undefined;
        resolve();
      };
      this.#response.on("drain", settle).on("close", settle);
    });
    return this.#drained;
  }

  end(chunk?: Uint8Array): void {
    if (this.isOver) return;
    if (chunk) this.write(chunk);
    this.#response.end();
    this.#dismissLingerer();
  }

  /** Closes the stream of a client that never ends its own half. */
  #dismissLingerer(): void {
    const stream = this.#stream;
    const timer = setTimeout(() => stream?.close(constants.NGHTTP2_NO_ERROR), LINGER_MS).unref();
    this.#response.once("close", () => clearTimeout(timer));
  }

  respond(status: number, body: Uint8Array | string, headers: Readonly<Record<string, string>>): void {
    const bytes = Buffer.from(body);
    this.open(status, { ...headers, "content-length": String(bytes.length) });
    this.end(bytes);
  }

  respondJson(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.respond(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
  }

  /** Sends every further byte in a write of its own. */
  splitBytes(): void {
    const write = this.#bytes;
    this.#bytes = (chunk) => {
      let room = true;
      for (const byte of chunk) room = write(Uint8Array.of(byte));
      return room;
    };
  }

  /** Resolves when the client (HTTP/2), or at least its kernel, has received everything written so far. */
  async delivered(): Promise<void> {
    const session = this.#stream?.session;
    if (session && !session.destroyed) {
      // A PING is answered in order, so all earlier data has been read when its answer comes.
      await new Promise<void>((resolve) => {
        const settle = () => {
          this.#response.off("close", settle);
          resolve();
        };
        this.#response.once("close", settle);
        if (!session.ping(settle)) settle();
      });
      return;
    }
    while (!this.isOver && (this.#response.socket?.writableLength ?? 0) > 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Resolves when the client has closed its half of the stream. Never resolves over HTTP/1.1, which cannot tell. */
  halfClosed(): Promise<void> {
    const { request } = this;
    if (this.transport === "h1") return new Promise(() => {});
    return request.readableEnded ? Promise.resolve() : new Promise((resolve) => request.once("end", () => resolve()));
  }

  /** Sends RST_STREAM with this code. Over HTTP/1.1 closes the connection. */
  reset(code: number = constants.NGHTTP2_INTERNAL_ERROR): void {
    if (this.#stream) this.#stream.close(code);
    else this.#socket?.destroy();
  }

  /** Ends the body without its end marker. The connection stays open if the protocol allows it. */
  truncate(): void {
    if (this.transport === "h2") this.#response.end();
    else this.#socket?.end();
  }

  /** Tells the client to make no more requests on this connection. Open requests continue. */
  goaway(code: number = constants.NGHTTP2_NO_ERROR): void {
    const session = this.#stream?.session;
    // Without a stream id it covers all current streams; with ours it would reject later ones.
    session?.goaway(code);
    session?.close();
  }

  /** Breaks the TCP connection with an RST. */
  resetConnection(): void {
    const socket = this.#socket;
    try {
      socket?.resetAndDestroy();
    } catch {
      // Only a plain TCP socket can send an RST. With TLS the connection is just closed.
      socket?.destroy();
    }
  }

  get #stream(): ServerHttp2Stream | undefined {
    const response = this.#response;
    return "stream" in response ? (response.stream as ServerHttp2Stream | undefined) : undefined;
  }

  get #socket(): Socket | undefined {
    return (this.#stream?.session?.socket ?? this.#response.socket ?? undefined) as Socket | undefined;
  }
}
