/**
 * Every bound this layer puts on the other side, in bytes and milliseconds. A peer that passes one is an error of
 * the peer's, never a reason to wait longer or to hold more.
 */
export interface WireLimits {
  /** One message of a stream, as it is on the wire. */
  readonly maxFrameBytes: number;
  /** One message or body after decompression. */
  readonly maxInflatedBytes: number;
  /** The JSON that ends a stream, on the wire and inflated. */
  readonly maxEndBytes: number;
  /** What is read of the body of a failed request; the rest is dropped. */
  readonly maxErrorBodyBytes: number;
  /** The body of a unary answer, as it is on the wire. */
  readonly maxBodyBytes: number;
  /** Response headers, as HTTP counts them. */
  readonly maxHeaderBytes: number;

  /** DNS, TCP, TLS and the peer's first HTTP/2 settings together. */
  readonly connectTimeoutMs: number;
  /** From opening an exchange to its response headers. */
  readonly headersTimeoutMs: number;
  /** Between two messages of a stream. Does not run while the reader has paused the stream. */
  readonly idleTimeoutMs: number;
  /** A whole unary call. */
  readonly unaryTimeoutMs: number;
  /** How long a peer may take to close a stream that it has already ended. */
  readonly lingerMs: number;

  /** Liveness probe of an HTTP/2 connection with open streams. A peer that asks for calm doubles it. */
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
  /** After this age a connection takes no new streams. */
  readonly sessionMaxAgeMs: number;
  /** A connection without streams is closed after this long. */
  readonly sessionIdleMs: number;
  /**
   * Streams that we reset on one connection. Peers cut a connection, and every stream on it, after some number of
   * resets: from about a hundred on, many of them without counting time. After these it takes no new streams.
   */
  readonly maxSessionResets: number;
  /** HTTP/2 connections to one origin. */
  readonly maxSessions: number;
  /** HTTP/2 receive window of one stream: what an unread stream can hold, in memory many times that (see bench). */
  readonly streamWindowBytes: number;
  /** HTTP/2 receive window of one connection. */
  readonly sessionWindowBytes: number;

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
  sessionMaxAgeMs: 15 * 60_000,
  sessionIdleMs: 5 * 60_000,
  maxSessionResets: 16,
  maxSessions: 32,
  streamWindowBytes: 32 * KiB,
  sessionWindowBytes: 8 * MiB,

  maxShortSockets: 64,
  maxLongSockets: 1024,
};

/** The defaults, with what the user wants otherwise. */
export function wireLimits(overrides?: Partial<WireLimits>): WireLimits {
  return overrides ? { ...DEFAULT_LIMITS, ...overrides } : DEFAULT_LIMITS;
}
