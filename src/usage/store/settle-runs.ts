import type { DatabaseSync } from "node:sqlite";
import type { Usage } from "../../core/events.ts";
import { addUsage, NO_USAGE, subtractUsage } from "../../core/rules/usage-estimate.ts";
import type { Cost } from "../record/records.ts";
import { KEYS_PER_MS } from "./row-values.ts";
import { SpentRows } from "./spent-rows.ts";

/** Which runs are settled. Times are milliseconds since the epoch. */
export interface Settlement {
  readonly account: string;
  /** The range of time in which all charges of the account are known. */
  readonly fromMs: number;
  readonly untilMs: number;
  /** Charges of runs that began before this moment do not change any more. */
  readonly settledMs: number;
  /** Runs that were parked before this moment are not continued: their process has ended. */
  readonly endedMs: number;
  readonly costOf: (usage: Usage, model: string, driver: string | undefined) => Cost | undefined;
}

const HOUR_MS = 3_600_000;

/**
 * Replaces the estimates of runs that are over by what the upstream has charged for them: the charges of their
 * conversation minus the runs that have figures of the upstream. The difference goes to the last request of the run, with
 * its cost, and to what its key has spent. If a conversation has several such runs, the last one gets all of the rest.
 * Does nothing as long as no charge names a conversation of an exact run: then the upstream does not name conversations.
 * Returns the number of runs. Call it in a transaction.
 */
export function settleRuns(connection: DatabaseSync, settlement: Settlement): number {
  const { account, fromMs, untilMs, settledMs, endedMs, costOf } = settlement;
  const sql = prepare(connection);
  if (!sql.isNamed.get(account, fromMs, untilMs)) return 0;
  const spent = new SpentRows(connection);
  const range = [fromMs * KEYS_PER_MS, settledMs * KEYS_PER_MS, endedMs * KEYS_PER_MS] as const;
  const open = sql.open.all(...range, account) as unknown as readonly RunRow[];
  const lastOf = lastRuns(open);
  let settled = 0;
  for (const run of open) {
    // Another run of the conversation may still be charged.
    if (sql.isUnsettled.get(...range, run.conversation)) continue;
    const isLast = lastOf.get(keyOf(run.conversation)) === run.at;
    const counted = usageOf(run);
    const rest = isLast ? restOf(sql, run.conversation, account, range[0]) : NO_USAGE;
    const now = { ...rest, reasoningTokens: Math.min(counted.reasoningTokens, rest.outputTokens) };
    if (run.input === null && isSame(now, NO_USAGE)) continue;
    const difference = subtractUsage(now, counted);
    sql.setRun.run(...tokensOf(now), run.at);
    settled++;
    const request = lastRequest(sql, run);
    if (!request) continue;
    const before = usageOf(request);
    const usage = { ...addUsage(before, difference), isEstimate: false };
    // A request whose figures are those of this run alone has exact ones from now on.
    const isOnlyRun = isSame(before, counted);
    const cost = request.model === null ? undefined : costOf(usage, request.model, request.driver ?? undefined);
    sql.setRequest.run(
      ...tokensOf(usage),
      isOnlyRun ? "upstream" : request.origin,
      cost?.micros ?? null,
      cost ? Number(cost.isEstimate) : null,
      cost?.source ?? null,
      request.at,
    );
    const startedAt = Math.floor(request.at / KEYS_PER_MS);
    const tokens = difference.inputTokens + difference.outputTokens;
    const dollars = (cost?.micros ?? 0) - (request.micros ?? 0);
    spent.add([{ principalId: run.principal, hour: Math.floor(startedAt / HOUR_MS), startedAt, tokens, dollars }], 0);
  }
  return settled;
}

interface Tokens {
  readonly input: number | null;
  readonly output: number | null;
  readonly cached: number | null;
  readonly cache_written: number | null;
  readonly reasoning: number | null;
}

interface RunRow extends Tokens {
  readonly at: number;
  readonly principal: string;
  readonly requests: string;
  readonly ourConversation: string;
  /** The upstream's id. */
  readonly conversation: string | Uint8Array;
}

interface RequestRow extends Tokens {
  readonly at: number;
  readonly model: string | null;
  readonly driver: string | null;
  readonly origin: string | null;
  readonly micros: number | null;
}

/** Returns the key of the run of each conversation that gets the rest: the last one that has used anything. */
function lastRuns(open: readonly RunRow[]): ReadonlyMap<string, number> {
  const lastOf = new Map<string, number>();
  for (const { conversation, input, at } of open) {
    const key = keyOf(conversation);
    if (input !== null || !lastOf.has(key)) lastOf.set(key, at);
  }
  return lastOf;
}

/** Returns what is charged for a conversation beyond the runs that are not settled now. */
function restOf(
  sql: ReturnType<typeof prepare>,
  conversation: RunRow["conversation"],
  account: string,
  firstKey: number,
): Usage {
  const charged = usageOf(sql.charged.get(conversation, account) as unknown as Tokens);
  const counted = usageOf(sql.counted.get(conversation, firstKey) as unknown as Tokens);
  const { inputTokens, outputTokens, cachedTokens, cacheWrittenTokens } = subtractUsage(charged, counted);
  return {
    ...NO_USAGE,
    inputTokens: Math.max(0, inputTokens),
    outputTokens: Math.max(0, outputTokens),
    cachedTokens: Math.max(0, cachedTokens),
    cacheWrittenTokens: Math.max(0, cacheWrittenTokens),
  };
}

const keyOf = (id: string | Uint8Array): string => (typeof id === "string" ? id : Buffer.from(id).toString("hex"));

/** Returns the last request of a run that is in the record: a process that was killed has lost the later ones. */
function lastRequest(sql: ReturnType<typeof prepare>, { ourConversation, requests, principal }: RunRow) {
  for (const id of requests.split(",").reverse()) {
    const row = sql.request.get(ourConversation, id, principal);
    if (row) return row as unknown as RequestRow;
  }
  return undefined;
}

const usageOf = (row: Tokens): Usage => ({
  inputTokens: row.input ?? 0,
  outputTokens: row.output ?? 0,
  cachedTokens: row.cached ?? 0,
  cacheWrittenTokens: row.cache_written ?? 0,
  reasoningTokens: row.reasoning ?? 0,
  isEstimate: false,
});

const tokensOf = (usage: Usage) =>
  [usage.inputTokens, usage.outputTokens, usage.cachedTokens, usage.cacheWrittenTokens, usage.reasoningTokens] as const;

const isSame = (a: Usage, b: Usage): boolean => tokensOf(a).every((tokens, index) => tokens === tokensOf(b)[index]);

/** A run that waits for results. ?3 is when parked runs of earlier processes had begun. */
const MAY_GO_ON = "outcome = 'parked' AND at >= ?3";
const SUMS =
  "total(input) AS input, total(output) AS output, total(cached) AS cached, total(cache_written) AS cache_written";

function prepare(connection: DatabaseSync) {
  return {
    isNamed: connection.prepare(
      `SELECT 1 FROM charge JOIN run ON upstream_conversation = charge.conversation
        WHERE charge.account = ? AND charge.at >= ? AND charge.at <= ? AND origin = 'upstream' LIMIT 1`,
    ),
    open: connection.prepare(
      `SELECT at, principal, requests, conversation AS ourConversation, upstream_conversation AS conversation,
        input, output, cached, cache_written, reasoning FROM run INDEXED BY run_inexact
        WHERE origin IS NOT 'upstream' AND at >= ?1 AND at < ?2 AND NOT (${MAY_GO_ON}) AND account = ?4
          AND upstream_conversation IS NOT NULL AND conversation IS NOT NULL ORDER BY at`,
    ),
    isUnsettled: connection.prepare(
      `SELECT 1 FROM run WHERE upstream_conversation = ?4 AND (at >= ?2 OR (at >= ?1 AND ${MAY_GO_ON})) LIMIT 1`,
    ),
    charged: connection.prepare(`SELECT ${SUMS} FROM charge WHERE conversation = ? AND account = ?`),
    counted: connection.prepare(
      `SELECT ${SUMS} FROM run WHERE upstream_conversation = ? AND (origin = 'upstream' OR at < ?)`,
    ),
    request: connection.prepare(
      `SELECT at, model, driver, origin, cost_micros AS micros, input, output, cached, cache_written, reasoning FROM request
        WHERE conversation = ? AND id = ? AND principal = ? ORDER BY at DESC LIMIT 1`,
    ),
    setRun: connection.prepare(
      `UPDATE run SET input = ?, output = ?, cached = ?, cache_written = ?, reasoning = ?, origin = 'upstream' WHERE at = ?`,
    ),
    setRequest: connection.prepare(
      `UPDATE request SET input = ?, output = ?, cached = ?, cache_written = ?, reasoning = ?, origin = ?,
        cost_micros = ?, cost_estimated = ?, cost_source = ? WHERE at = ?`,
    ),
  };
}
