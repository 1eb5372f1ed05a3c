import type { EngineStats } from "../core/engine/engine.ts";
import type { RetryStats } from "../core/engine/run/retry-budget.ts";

/** Where the gauges get their figures. Each function is called once for each scrape. */
export interface GaugeSources {
  engine(): EngineStats;
  /** Answers that are streamed. */
  streams(): number;
  upstream(): UpstreamStats;
  /** By upstream. */
  retries(): Iterable<readonly [name: string, stats: RetryStats]>;
  hub(): HubStats;
  /** Records of the usage record that could not be written since the start. */
  lostRecords(): number;
  /** Spans since the start. Absent: there are no traces. */
  readonly traces?: (() => TraceStats) | undefined;
  /** Absent: the gateway is alone. */
  readonly cluster?: (() => ClusterStats) | undefined;
}

interface ClusterStats {
  readonly isRedisUp: boolean;
  readonly redisFailures: number;
  readonly replays: number;
}

interface TraceStats {
  readonly exported: number;
  readonly dropped: number;
}

interface UpstreamStats {
  /** HTTP/2 connections. */
  readonly connections: number;
  readonly streams: number;
  /** Requests that wait for a connection with room. */
  readonly waiting: number;
}

interface HubStats {
  /** MCP servers by the state of their connection, over all keys. */
  readonly servers: ReadonlyMap<string, number>;
  /** Calls under way. */
  readonly calls: number;
}

/** The load of one listener. */
export interface ServerStats {
  readonly requests: number;
}
