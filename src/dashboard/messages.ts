import type { PhaseName } from "../usage/records.ts";

/** The types in the API of the dashboard. The page imports them; it shares nothing else with the gateway. */

export interface SessionReply {
  readonly csrf: string;
  readonly version: string;
  readonly isDemo: boolean;
}

export interface ErrorReply {
  readonly error: { readonly code: string; readonly message: string; readonly hint?: string };
}

/** What happens now; the feed sends it at most four times a second. Lists are cut, and the counts say by how much. */
export interface NowMessage {
  readonly requests: readonly LiveRow[];
  readonly requestCount: number;
  readonly streams: number;
  readonly parked: readonly ParkedRow[];
  readonly parkedCount: number;
  readonly parkedBytes: number;
  /** The last requests that are over, newest first. */
  readonly recent: readonly RecentRow[];
  /** The number of the last line of the log. */
  readonly logLine: number;
}

export interface LiveRow {
  readonly id: string;
  readonly key: string;
  readonly client: string;
  readonly model: string;
  readonly route: string;
  readonly phase: PhaseName;
  readonly run: "fresh" | "resumed" | "replayed";
  readonly elapsedMs: number;
  readonly firstTokenMs: number | null;
  readonly outputTokens: number | null;
}

export interface ParkedRow {
  readonly id: string;
  readonly key: string;
  readonly model: string;
  readonly tools: readonly string[];
  readonly bytes: number;
  /** In whole seconds, so that an idle page gets few messages. */
  readonly waitedS: number;
}

export interface RecentRow {
  readonly id: string;
  readonly at: number;
  readonly key: string;
  readonly client: string;
  readonly model: string;
  readonly conversation: string | null;
  readonly status: number;
  readonly error: string | null;
  readonly run: "fresh" | "resumed" | "replayed" | null;
  readonly durationMs: number;
  readonly firstTokenMs: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly costMicros: number | null;
}
