import type { DatabaseSync } from "node:sqlite";
import type { PhaseName, RequestRecord } from "../record/records.ts";
import { KEYS_PER_MS, nextKey, text } from "./row-values.ts";
import type { Correction } from "./spending.ts";
import { LIFTED_AT } from "./spent-rows.ts";

/** The order in which the phases of a request are stored. */
export const PHASES: readonly PhaseName[] = [
  "gate",
  "parse",
  "credential",
  "checkpoint",
  "open",
  "first-frame",
  "model",
  "tools",
  "park",
];

const COLUMNS = 29;

/** The average of a principal is that of so many requests, found among the last so many requests of all. */
const USUAL_REQUESTS = 50;
const MAX_SEARCHED = 10_000;

const SUMS =
  "count(*) AS requests, coalesce(sum(input + output), 0) AS tokens, coalesce(sum(cost_micros), 0) AS dollars";

/** The average of some requests that have used tokens. */
export interface Usual {
  readonly tokens: number;
  /** Millionths of a dollar. */
  readonly dollars: number;
}

/** The rows of requests. */
export class RequestRows {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(connection: DatabaseSync) {
    this.#statements = prepare(connection);
  }

  insert(record: RequestRecord): void {
    const { usage, run, cost, cache } = record;
    // Another row has the key only if the millisecond has no free one, or if another process has just taken it.
    for (let first = record.startedAt * KEYS_PER_MS; ; first += KEYS_PER_MS) {
      const { changes } = this.#statements.insert.run(
        first,
        record.id,
        record.principalId,
        record.keyName,
        record.client,
        record.face,
        record.route,
        text(record.modelAsked),
        text(record.modelServed),
        record.driver ?? null,
        record.conversation ?? null,
        record.status,
        text(record.errorCode),
        record.firstTokenMs ?? null,
        record.durationMs,
        phasesText(record.phases),
        usage?.inputTokens ?? null,
        usage?.outputTokens ?? null,
        usage?.cachedTokens ?? null,
        usage?.cacheWrittenTokens ?? null,
        usage?.reasoningTokens ?? null,
        record.usageOrigin ?? null,
        run?.type ?? null,
        run?.type === "replayed" ? run.reason : null,
        cost?.micros ?? null,
        cost ? Number(cost.isEstimate) : null,
        cost?.source ?? null,
        cache?.possibleTokens ?? null,
        cache?.reason ?? null,
      );
      if (changes !== 0) return;
    }
  }

  /** Writes the usage of a record again. The row is the one that has the old figures, since clients choose ids. */
  correct({ record, before }: Correction): boolean {
    const { usage, cost, startedAt } = record;
    const first = startedAt * KEYS_PER_MS;
    const { changes } = this.#statements.correct.run(
      usage?.inputTokens ?? null,
      usage?.outputTokens ?? null,
      usage?.cachedTokens ?? null,
      usage?.cacheWrittenTokens ?? null,
      usage?.reasoningTokens ?? null,
      record.usageOrigin ?? null,
      record.run?.type ?? null,
      cost?.micros ?? null,
      cost ? Number(cost.isEstimate) : null,
      cost?.source ?? null,
      first,
      first + 2 * KEYS_PER_MS,
      record.id,
      before.usage?.inputTokens ?? null,
      before.usage?.outputTokens ?? null,
    );
    return changes !== 0;
  }

  /** Returns what a principal has used in a conversation. */
  sumIn(conversation: string, principalId: string): object | undefined {
    return this.#statements.sumIn.get(principalId, conversation);
  }

  /** Returns what a principal has used in a short time. Reads all rows of that time. */
  sumBetween(principalId: string, fromMs: number, untilMs: number): object | undefined {
    return this.#statements.sumBetween.get(principalId, fromMs * KEYS_PER_MS, untilMs * KEYS_PER_MS);
  }

  /** Returns what a request of a principal has used lately on average; undefined if none is found. */
  usual(principalId: string): Usual | undefined {
    const { tokens, dollars } = this.#statements.usual.get(principalId) ?? {};
    return typeof tokens === "number" ? { tokens, dollars: Number(dollars ?? 0) } : undefined;
  }

  deleteBefore(ms: number): void {
    this.#statements.deleteBefore.run(ms * KEYS_PER_MS);
  }

  /** Returns when the request began that this part of all rows, between 0 and 1, lies before; undefined without rows. */
  startAfter(part: number): number | undefined {
    const rows = Number(this.#statements.count.get()?.["rows"]);
    const at = this.#statements.keyAfter.get(Math.min(rows - 1, Math.ceil(rows * part)))?.["at"];
    return typeof at === "number" ? Math.floor(at / KEYS_PER_MS) : undefined;
  }
}

function prepare(connection: DatabaseSync) {
  const marks = Array.from({ length: COLUMNS - 1 }, (_, index) => `?${index + 2}`).join(", ");
  return {
    // Many requests begin in one millisecond of a busy gateway. The next free key is one look-up.
    insert: connection.prepare(`INSERT OR IGNORE INTO request VALUES (${nextKey("request")}, ${marks})`),
    correct: connection.prepare(
      `UPDATE request SET input = ?, output = ?, cached = ?, cache_written = ?, reasoning = ?, origin = ?, run = ?,
        cost_micros = ?, cost_estimated = ?, cost_source = ?
        WHERE at = (SELECT at FROM request WHERE at >= ? AND at < ? AND id = ? AND input IS ? AND output IS ? LIMIT 1)`,
    ),
    sumIn: connection.prepare(
      `SELECT ${SUMS} FROM request WHERE conversation = ?2 AND principal = ?1 AND at >= ${LIFTED_AT} * ${KEYS_PER_MS}`,
    ),
    sumBetween: connection.prepare(
      `SELECT ${SUMS} FROM request WHERE at >= max(?2, ${LIFTED_AT} * ${KEYS_PER_MS}) AND at < ?3 AND principal = ?1`,
    ),
    // The search begins in the last hour in which the principal had a request.
    usual: connection.prepare(
      `SELECT avg(tokens) AS tokens, avg(dollars) AS dollars FROM (
        SELECT input + output AS tokens, coalesce(cost_micros, 0) AS dollars FROM (
          SELECT principal, input, output, cost_micros FROM request
            WHERE at < (SELECT (max(hour) + 1) * ${3_600_000 * KEYS_PER_MS} FROM spent WHERE principal = ?1)
            ORDER BY at DESC LIMIT ${MAX_SEARCHED})
          WHERE principal = ?1 AND input + output > 0 LIMIT ${USUAL_REQUESTS})`,
    ),
    deleteBefore: connection.prepare("DELETE FROM request WHERE at < ?"),
    count: connection.prepare("SELECT count(*) AS rows FROM request"),
    keyAfter: connection.prepare("SELECT at FROM request ORDER BY at LIMIT 1 OFFSET ?"),
  };
}

function phasesText(phases: RequestRecord["phases"]): string {
  let list = "";
  for (const name of PHASES) list += `${phases[name] ?? ""},`;
  return list.slice(0, -1);
}
