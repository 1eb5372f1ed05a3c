import type { DatabaseSync } from "node:sqlite";
import type { CacheMiss, PhaseName, ToolCallRecord } from "../record/records.ts";
import { PHASES } from "../store/request-rows.ts";
import { KEYS_PER_MS } from "../store/row-values.ts";
import { type ConversationCharges, chargesByConversation } from "./conversation-charges.ts";

/** The sums of one conversation. */
export interface ConversationSums {
  readonly id: string;
  readonly keyName: string;
  /** Of the last turn. */
  readonly client: string;
  readonly model: string | null;
  readonly turns: number;
  readonly errors: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  /** Millionths of a US dollar; null if no turn has a price. */
  readonly costMicros: number | null;
  readonly isCostEstimated: boolean;
  /** What Cursor has billed; null if that is not known. */
  readonly charges: ConversationCharges | null;
  /** Milliseconds since the epoch. */
  readonly firstAt: number;
  readonly lastAt: number;
}

export interface ConversationPage {
  readonly conversations: readonly ConversationSums[];
  /** Where the next page begins; null at the end. */
  readonly next: number | null;
}

/**
 * Lists conversations, those with the latest turns first. `before` is `next` of the page before. A page is read along the
 * table and not by sorting it, so it costs as much in a large record as in a small one.
 */
export function listConversations(connection: DatabaseSync, limit: number, before?: number): ConversationPage {
  const last = connection
    .prepare(
      `SELECT at, conversation AS id, key_name AS keyName, client, coalesce(model, model_asked) AS model FROM request AS r
        WHERE at < ? AND conversation IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM request WHERE conversation = r.conversation AND at > r.at)
        ORDER BY at DESC LIMIT ?`,
    )
    .all(before ?? END, limit) as unknown as readonly LastTurn[];
  const sums = connection.prepare(
    `SELECT count(*) AS turns, total(status >= 400) AS errors, total(input) AS inputTokens, total(output) AS outputTokens,
      total(cached) AS cachedTokens, sum(cost_micros) AS costMicros, total(cost_estimated) > 0 AS isCostEstimated,
      min(at) AS firstAt FROM request WHERE conversation = ?`,
  );
  const chargesOf = chargesByConversation(connection);
  return {
    conversations: last.map(({ at, ...turn }) => {
      const { firstAt, isCostEstimated, ...rest } = sums.get(turn.id) as unknown as Sums;
      return {
        ...turn,
        ...rest,
        isCostEstimated: isCostEstimated === 1,
        charges: chargesOf(turn.id),
        firstAt: momentOf(firstAt),
        lastAt: momentOf(at),
      };
    }),
    next: last.length < limit ? null : (last.at(-1)?.at ?? null),
  };
}

interface LastTurn extends Pick<ConversationSums, "id" | "keyName" | "client" | "model"> {
  readonly at: number;
}

type Sums = Omit<ConversationSums, keyof LastTurn | "isCostEstimated" | "charges" | "lastAt"> & {
  readonly isCostEstimated: number;
};

const END = Number.MAX_SAFE_INTEGER;
const momentOf = (key: number): number => Math.floor(key / KEYS_PER_MS);

/** One turn of a conversation, as it was recorded. */
export interface RecordedTurn {
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly firstTokenMs: number | null;
  readonly phases: Readonly<Partial<Record<PhaseName, number>>>;
  readonly keyName: string;
  readonly client: string;
  readonly face: string;
  readonly model: string | null;
  readonly driver: string | null;
  readonly status: number;
  readonly error: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly cachedTokens: number | null;
  readonly reasoningTokens: number | null;
  readonly origin: string | null;
  readonly run: "fresh" | "resumed" | "replayed" | null;
  readonly runReason: string | null;
  readonly costMicros: number | null;
  readonly isCostEstimated: boolean;
  readonly costSource: string | null;
  readonly cachePossible: number | null;
  readonly cacheReason: CacheMiss | null;
  readonly toolCalls: readonly RecordedCall[];
}

export interface RecordedCall extends Pick<ToolCallRecord, "tool" | "ranBy" | "outcome"> {
  readonly server: string | null;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  readonly answeredAt: number | null;
  readonly bytes: number | null;
}

/** More calls of one turn are left out. */
const MAX_CALLS = 50;

export interface TurnPage {
  readonly turns: readonly RecordedTurn[];
  readonly next: number | null;
}

/** Lists the turns of a conversation, newest first. `before` is `next` of the page before. */
export function listTurns(connection: DatabaseSync, id: string, limit: number, before?: number): TurnPage {
  const rows = connection
    .prepare("SELECT * FROM request WHERE conversation = ? AND at < ? ORDER BY at DESC LIMIT ?")
    .all(id, before ?? END, limit) as unknown as readonly RequestRow[];
  // Clients choose the ids of requests, so a call must have the principal and the time of its request, too.
  const calls = connection.prepare(
    `SELECT tool, ran_by AS ranBy, outcome, server, asked_at AS askedAt, answered_at AS answeredAt, bytes FROM tool_call
      WHERE asked_at >= ? AND asked_at <= ? AND request_id = ? AND principal = ? ORDER BY asked_at LIMIT ${MAX_CALLS}`,
  );
  return {
    turns: rows.map((row) => {
      const startedAt = momentOf(row.at);
      const found = calls.all(startedAt - SLACK_MS, startedAt + Math.ceil(row.ms) + SLACK_MS, row.id, row.principal);
      return { ...turnOf(row, startedAt), toolCalls: found as unknown as readonly RecordedCall[] };
    }),
    next: rows.length < limit ? null : (rows.at(-1)?.at ?? null),
  };
}

/** The times of calls are computed back from when they were answered. */
const SLACK_MS = 1000;

interface RequestRow {
  readonly at: number;
  readonly id: string;
  readonly principal: string;
  readonly key_name: string;
  readonly client: string;
  readonly face: string;
  readonly model_asked: string | null;
  readonly model: string | null;
  readonly driver: string | null;
  readonly status: number;
  readonly error: string | null;
  readonly first_ms: number | null;
  readonly ms: number;
  readonly phases: string;
  readonly input: number | null;
  readonly output: number | null;
  readonly cached: number | null;
  readonly reasoning: number | null;
  readonly origin: string | null;
  readonly run: RecordedTurn["run"];
  readonly run_reason: string | null;
  readonly cost_micros: number | null;
  readonly cost_estimated: number | null;
  readonly cost_source: string | null;
  readonly cache_possible: number | null;
  readonly cache_reason: CacheMiss | null;
}

const turnOf = (row: RequestRow, startedAt: number): Omit<RecordedTurn, "toolCalls"> => ({
  requestId: row.id,
  startedAt,
  durationMs: row.ms,
  firstTokenMs: row.first_ms,
  phases: phasesOf(row.phases),
  keyName: row.key_name,
  client: row.client,
  face: row.face,
  model: row.model ?? row.model_asked,
  driver: row.driver,
  status: row.status,
  error: row.error,
  inputTokens: row.input,
  outputTokens: row.output,
  cachedTokens: row.cached,
  reasoningTokens: row.reasoning,
  origin: row.origin,
  run: row.run,
  runReason: row.run_reason,
  costMicros: row.cost_micros,
  isCostEstimated: row.cost_estimated === 1,
  costSource: row.cost_source,
  cachePossible: row.cache_possible,
  cacheReason: row.cache_reason,
});

/** Phases are stored as a list of times in the order of {@link PHASES}, empty where a phase was not reached. */
function phasesOf(text: string): RecordedTurn["phases"] {
  const times = text.split(",");
  return Object.fromEntries(
    PHASES.flatMap((name, index) =>
      times[index] === undefined || times[index] === "" ? [] : [[name, Number(times[index])]],
    ),
  );
}
