/** All limits on the peer, in bytes and milliseconds. Exceeding one is an error of the peer. */
export interface WireLimits {
  /** One message of a stream on the wire. */
  readonly maxFrameBytes: number;
  /** One message or body after decompression. */
  readonly maxInflatedBytes: number;
  /** The JSON that ends a stream, on the wire and inflated. */
  readonly maxEndBytes: number;
  /** The body of a failed request; the rest is dropped. */
  readonly maxErrorBodyBytes: number;
  /** The body of a unary answer on the wire. */
  readonly maxBodyBytes: number;
  /** Response headers, as HTTP counts them. */
  readonly maxHeaderBytes: number;

  /** DNS, TCP, TLS and the peer's first HTTP/2 settings together. */
  readonly connectTimeoutMs: number;
  /** From opening an exchange to its response headers. */
  readonly headersTimeoutMs: number;
  /** Between two messages of a stream. Not counted while the stream is paused. */
  readonly idleTimeoutMs: number;
  /** A whole unary call. */
  readonly unaryTimeoutMs: number;
  /** How long a peer may take to close a stream that it has ended. */
  readonly lingerMs: number;

  /** Interval of PINGs on a connection with open streams. Doubled by ENHANCE_YOUR_CALM. */
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
  /** Older connections get no new streams. */
  readonly connectionMaxAgeMs: number;
  /** A connection without streams is closed after this long. */
  readonly connectionIdleMs: number;
  /**
   * Streams that we reset on one connection before it gets no new ones. Peers close a connection with all its streams
   * after a number of resets, many of them from about a hundred on, regardless of time.
   */
  readonly maxConnectionResets: number;
  /** HTTP/2 connections to one origin. */
  readonly maxConnections: number;
  /** HTTP/2 receive window of one stream. An unread stream takes many times that in memory (see bench). */
  readonly streamWindowBytes: number;
  /** HTTP/2 receive window of one connection. */
  readonly connectionWindowBytes: number;

  /** HTTP/1.1 sockets to one origin for short exchanges, and for long-lived ones. */
  readonly maxShortSockets: number;
  readonly maxLongSockets: number;
}

const KiB = 1024;
const MiB = 1024 * KiB;

const DEFAULT_LIMITS: WireLimits = {
  maxFrameBytes: 8 * MiB,
  maxInflatedBytes: 16 * MiB,
  maxEndBytes: 256 * KiB,
  maxErrorBodyBytes: 256 * KiB,
  maxBodyBytes: 16 * MiB,
  maxHeaderBytes: 32 * KiB,

  connectTimeoutMs: 10_000,
  headersTimeoutMs: 30_000,
  idleTimeoutMs: 120_000,
  unaryTimeoutMs: 60_000,
  lingerMs: 2_000,

  pingIntervalMs: 20_000,
  pingTimeoutMs: 10_000,
  connectionMaxAgeMs: 15 * 60_000,
  connectionIdleMs: 5 * 60_000,
  maxConnectionResets: 16,
  maxConnections: 32,
  streamWindowBytes: 32 * KiB,
  connectionWindowBytes: 8 * MiB,

  maxShortSockets: 64,
  maxLongSockets: 1024,
};

export function wireLimits(overrides?: Partial<WireLimits>): WireLimits {
  return overrides ? { ...DEFAULT_LIMITS, ...overrides } : DEFAULT_LIMITS;
}
