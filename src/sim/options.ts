import type { Cassette } from "../replay/cassette.ts";

/** Options of the simulated backend, with the defaults of `excursor sim`. */
export interface SimOptions {
  /** 0 picks a free port. */
  readonly port: number;
  /** Serves TLS (HTTP/2 by ALPN, and HTTP/1.1) instead of plain HTTP. PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** The transport that `GetServerConfig` tells clients to use for runs. */
  readonly hostConfig: "h1" | "h2";
  /** Whether `StreamChat` still works, or fails with `ERROR_DEPRECATED` as at the real backend. */
  readonly legacy: "on" | "deprecated";
  /** Traces protocol violations of the client instead of failing. */
  readonly isLenient: boolean;
  /** Delay before the first frame of a new run, as at the real backend. */
  readonly bootstrapMs: number;
  readonly tokenTtlS: number;
  /** `rotating`: each use replaces the refresh token, and using an old one revokes its family. */
  readonly refreshTokens: "reusable" | "rotating";
  /** A client that polls for a login more often gets a 429. 0: no limit. */
  readonly pollIntervalMs: number;
  /** Calls of the agent by an older CLI are refused, as at the real backend: `cli-2026.05.01`. Default: none. */
  readonly minClientVersion?: string | undefined;
  /** Steps for turns without a script of their own. */
  readonly script?: string | undefined;
  /** Plays these recorded calls instead of scripts. */
  readonly cassette?: Cassette | undefined;
  /** Told when a client does something else than the recorded one. */
  readonly onLeave?: ((text: string) => void) | undefined;
  /** Told once of each call that the simulator does not know. */
  readonly onUnknownCall?: ((path: string) => void) | undefined;
  readonly trace?: ((entry: TraceEntry) => void) | undefined;
  readonly heartbeatMs: number;
  /** A client that sends nothing for so long loses its run. 0: no limit. */
  readonly idleMs: number;
  /** How long the client may take to answer kv, request context and queries. */
  readonly answerTimeoutMs: number;
  /**
   * Counts RST_STREAM frames, and closes an HTTP/2 connection that sends more than this with ENHANCE_YOUR_CALM.
   * Infinity only counts. Not with TLS.
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
  idleMs: 0,
  answerTimeoutMs: 10_000,
};

export interface TraceEntry {
  readonly t: number;
  /** The run's request id; empty if it belongs to no run. */
  readonly run: string;
  readonly transport: "h1" | "h2";
  readonly dir: "in" | "out" | "-";
  /**
   * The member of the message (`run_request`, `text_delta`, …), or `request`, `open`, `reset`, `end`, `violation`,
   * `skip`, `fault`.
   */
  readonly kind: string;
  readonly message: unknown;
}
