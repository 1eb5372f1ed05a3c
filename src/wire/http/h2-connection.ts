import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { ExcursorError } from "../../core/errors.ts";
import type { WireLimits } from "../limits.ts";
import { parseOrigin } from "./http.ts";
import {
  connectionClosed,
  connectTimeout,
  fromNodeError,
  fromReset,
  halfOpen,
  http2Unavailable,
} from "./network-errors.ts";
import type { FindProxy } from "./proxy.ts";
import { connectSecurely } from "./secure-socket.ts";

export interface H2ConnectionOptions {
  readonly origin: string;
  readonly limits: WireLimits;
  /** Certificates to trust instead of Node's own list. */
  readonly ca?: string | Buffer | undefined;
  readonly findProxy?: FindProxy | undefined;
  readonly pingIntervalMs: number;
  /** Called when the connection has opened or closed, or may have room again. */
  readonly onChange: () => void;
  /** Called when the peer sends ENHANCE_YOUR_CALM. */
  readonly onCalm: () => void;
}

/**
 * One HTTP/2 connection.
 *
 *     connecting ──settings──▶ open ──GOAWAY, old age──▶ draining ──last stream──▶ closed
 *
 * It is open after the peer's first SETTINGS, which announce how many streams it accepts; Node silently queues the
 * excess. An error closes it from any state. On a GOAWAY with an error code, Node ends the session with all streams.
 * After one without, the streams up to the last one named continue.
 *
 * Error listeners on the session, its socket and its streams are never removed, since some errors come after the end.
 */
export class H2Connection {
  readonly #options: H2ConnectionOptions;
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  #state: "connecting" | "open" | "draining" | "closed" = "connecting";
  #openedAt: number | undefined;
  #error: ExcursorError | undefined;
  #streams = 0;
  #resets = 0;
  /** Open streams that were abandoned without a reset. */
  #abandoned = 0;
  #lastStreamId = Number.POSITIVE_INFINITY;
  /** The next timeout: connecting, PING, or idle. */
  #timer: NodeJS.Timeout;

  constructor(options: H2ConnectionOptions) {
    const { origin, limits } = options;
    this.#options = options;
    this.#socket = openSocket(options);
    this.#socket.on("error", (error) => this.destroy(fromNodeError(error, origin)));
    this.#session = connect(origin, {
      createConnection: () => this.#socket,
      settings: { enablePush: false, initialWindowSize: limits.streamWindowBytes },
      // In MB. A few dozen unread streams would exceed Node's default of 10; our windows are the real bound.
      maxSessionMemory: 1024,
    });
    this.#session.on("error", (error) => this.destroy(fromNodeError(error, origin)));
    this.#session.on("connect", () => this.#connected());
    this.#session.on("remoteSettings", () => this.#settled());
    this.#session.on("goaway", (code, lastStreamId) => this.#goneAway(code, lastStreamId));
    this.#session.on("close", () => this.#closed());
    this.#timer = setTimeout(() => this.destroy(connectTimeout(origin)), limits.connectTimeoutMs).unref();
  }

  get isConnecting(): boolean {
    return this.#state === "connecting";
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  /** Node has destroyed the session. Its 'close' event may come later. */
  get isDestroyed(): boolean {
    return this.#session.destroyed;
  }

  get isSpent(): boolean {
    return this.#state === "draining" || this.#state === "closed" || this.#session.closed || this.#session.destroyed;
  }

  /** The error that closed it, if any. */
  get error(): ExcursorError | undefined {
    return this.#error;
  }

  /** The error that prevented the connection, if any. */
  get connectError(): ExcursorError | undefined {
    return this.#openedAt === undefined ? this.#error : undefined;
  }

  get streams(): number {
    return this.#streams;
  }

  /** The peer's limit, which may change at any time. */
  get maxStreams(): number {
    return this.#session.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
  }

  /** Returns whether another stream may be opened. A connection that is too old starts to drain here. */
  hasRoom(): boolean {
    if (this.#state !== "open" || this.isSpent) return false;
    if (performance.now() - (this.#openedAt ?? 0) > this.#options.limits.connectionMaxAgeMs) this.drain();
    return this.#state === "open" && this.#streams < this.maxStreams;
  }

  /**
   * Opens a stream. Call it only if {@link hasRoom}, and listen for errors. Throws where Node does; older versions also
   * for a connection that has just closed.
   */
  request(headers: Readonly<Record<string, string>>, waitForTrailers = false): ClientHttp2Stream {
    const stream = this.#session.request(headers, { endStream: false, waitForTrailers });
    stream.on("close", this.#released);
    if (this.#streams++ === 0) {
      this.#session.ref();
      this.#schedulePing();
    }
    return stream;
  }

  /**
   * Abandons a stream: resets it, up to a number of resets that peers tolerate. Beyond that the stream is left open and
   * unread until the peer ends it. A connection that has only such streams is closed.
   */
  giveUp(stream: ClientHttp2Stream): void {
    if (stream.closed || stream.destroyed) return;
    const { maxConnectionResets } = this.#options.limits;
    if (this.#resets < maxConnectionResets) {
      stream.close(constants.NGHTTP2_CANCEL);
      if (++this.#resets === maxConnectionResets) this.drain();
    } else {
      this.#abandoned++;
      // Runs before the listener that counts the remaining streams.
      stream.prependListener("close", () => this.#abandoned--);
      stream.end();
    }
    // Otherwise Node would keep the received data for a reader that is gone.
    stream.resume();
    this.#closeIfAbandoned();
  }

  #closeIfAbandoned(): void {
    if (this.#abandoned === 0 || this.#abandoned < this.#streams) return;
    // Destroying the session would reset each of its streams first.
    this.#socket.destroy();
    this.#closed();
  }

  /** Returns whether the peer provably did not process this closed stream. */
  provedUnprocessed(stream: ClientHttp2Stream): boolean {
    if (stream.id === undefined || stream.id > this.#lastStreamId) return true;
    return stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
  }

  /** Accepts no new streams, and closes after the last open one. */
  drain(): void {
    if (this.#state === "connecting") this.destroy();
    if (this.#state !== "open") return;
    this.#state = "draining";
    this.#session.close();
  }

  destroy(error?: ExcursorError): void {
    if (this.#state === "closed") return;
    this.#error ??= error;
    this.#session.destroy(error);
    this.#closed();
  }

  #connected(): void {
    if (this.#socket instanceof TLSSocket && this.#socket.alpnProtocol !== "h2") {
      this.destroy(http2Unavailable(this.#options.origin));
      return;
    }
    this.#session.setLocalWindowSize(this.#options.limits.connectionWindowBytes);
  }

  #settled(): void {
    if (this.#state === "connecting") {
      this.#state = "open";
      this.#openedAt = performance.now();
      this.#rest();
    }
    this.#options.onChange();
  }

  #goneAway(code: number, lastStreamId: number): void {
    this.#lastStreamId = Math.min(this.#lastStreamId, lastStreamId);
    if (code !== constants.NGHTTP2_NO_ERROR) this.#error ??= fromReset(code);
    if (code === constants.NGHTTP2_ENHANCE_YOUR_CALM) this.#options.onCalm();
    if (this.#state === "connecting") this.destroy(connectionClosed(this.#options.origin));
    if (this.#state !== "open") return;
    this.#state = "draining";
    this.#options.onChange();
  }

  readonly #released = (): void => {
    if (--this.#streams === 0) this.#rest();
    else this.#closeIfAbandoned();
    this.#options.onChange();
  };

  /** Without streams the connection neither keeps the process alive nor sends PINGs. */
  #rest(): void {
    clearTimeout(this.#timer);
    if (this.#state === "closed") return;
    this.#session.unref();
    this.#timer = setTimeout(() => this.drain(), this.#options.limits.connectionIdleMs).unref();
  }

  #schedulePing(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ping(), this.#options.pingIntervalMs).unref();
  }

  #ping(): void {
    if (this.#session.destroyed) return;
    const { origin, limits } = this.#options;
    const timer = setTimeout(() => this.destroy(halfOpen(origin)), limits.pingTimeoutMs).unref();
    this.#timer = timer;
    this.#session.ping(() => {
      // A different timer means that the connection is idle or already at its next PING.
      if (this.#timer === timer && this.#state !== "closed") this.#schedulePing();
    });
  }

  #closed(): void {
    if (this.#state === "closed") return;
    if (this.#state === "connecting") this.#error ??= connectionClosed(this.#options.origin);
    this.#state = "closed";
    clearTimeout(this.#timer);
    this.#options.onChange();
  }
}

function openSocket({ origin, ca, findProxy }: H2ConnectionOptions): Socket {
  const url = parseOrigin(origin);
  if (url.protocol === "https:") return connectSecurely({ url, protocol: "h2", ca, findProxy });
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return connectTcp({ host, port: Number(url.port) || 80, noDelay: true });
}
