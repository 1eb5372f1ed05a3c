/** How the simulated backend behaves; the defaults are those of a fresh `excursor sim`. */
export interface SimOptions {
  /** 0 picks a free one. */
  readonly port: number;
  /** Serves TLS (HTTP/2 by ALPN, HTTP/1.1 beside it) instead of plain HTTP. PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Which transport `GetServerConfig` tells clients to use for runs. */
  readonly hostConfig: "h1" | "h2";
  /** Whether `StreamChat` still works, or answers `ERROR_DEPRECATED` as the real one does today. */
  readonly legacy: "on" | "deprecated";
  /** Goes on, with a trace entry, where a client breaks the protocol. */
  readonly isLenient: boolean;
  /** Delay before the first frame of a new run: what a real bootstrap costs. */
  readonly bootstrapMs: number;
  /** Lifetime of the tokens handed out. */
  readonly tokenTtlS: number;
  /** Whether a refresh token can be used again, or is replaced by each use, and the family revoked if it is not. */
  readonly refreshTokens: "reusable" | "rotating";
  /** Whoever polls for a login more often than this is told to slow down. 0: as often as they like. */
  readonly pollIntervalMs: number;
  /** Steps for turns without a script of their own. */
  readonly script?: string | undefined;
  readonly trace?: ((entry: TraceEntry) => void) | undefined;
  readonly heartbeatMs: number;
  /** How long kv, request context and queries may stay unanswered. */
  readonly answerTimeoutMs: number;
  /**
   * Counts RST_STREAM frames, and cuts an HTTP/2 connection, with ENHANCE_YOUR_CALM, that sends more than this; infinity
   * only counts. Not with TLS.
   */
  readonly maxResets?: number | undefined;
}

export const SIM_DEFAULTS: SimOptions = {
  port: 0,
  hostConfig: "h2",
  legacy: "deprecated",
  isLenient: false,
  bootstrapMs: 0,
  tokenTtlS: 3600,
  refreshTokens: "reusable",
  pollIntervalMs: 0,
  heartbeatMs: 5000,
  answerTimeoutMs: 10_000,
};

/** One line of the trace: what passed, on which run, in which direction. */
export interface TraceEntry {
  /** Milliseconds since the epoch. */
  readonly t: number;
  /** The run's request id; empty for what belongs to no run. */
  readonly run: string;
  readonly transport: "h1" | "h2";
  readonly dir: "in" | "out" | "-";
  /** The member of the message (`run_request`, `text_delta`, …), or `request`, `open`, `reset`, `end`, `violation`, `skip`, `fault`. */
  readonly kind: string;
  readonly message: unknown;
}
