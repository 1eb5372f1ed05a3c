import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { RunRecord } from "../record/records.ts";
import { KEYS_PER_MS, nextKey, text } from "./row-values.ts";

/** The columns of a run, in the order of the table. */
export const RUN_COLUMNS = [
  "at",
  "id",
  "requests",
  "principal",
  "driver",
  "model",
  "conversation",
  "upstream_conversation",
  "account",
  "start",
  "start_reason",
  "parked_ms",
  "ms",
  "outcome",
  "input",
  "output",
  "cached",
  "cache_written",
  "reasoning",
  "origin",
] as const;

/** The rows of runs. */
export class RunRows {
  readonly #put: ReturnType<DatabaseSync["prepare"]>;
  readonly #deleteBefore: ReturnType<DatabaseSync["prepare"]>;

  constructor(connection: DatabaseSync) {
    const changes = RUN_COLUMNS.slice(2).map((name) => `${name} = excluded.${name}`);
    const marks = RUN_COLUMNS.slice(1).map((_, index) => `?${index + 2}`);
    // The key of its earlier record, or the next free one.
    const key = `coalesce((SELECT at FROM run WHERE at >= ?1 AND at < ?1 + ${2 * KEYS_PER_MS} AND id = ?2), ${nextKey("run")})`;
    this.#put = connection.prepare(
      `INSERT INTO run VALUES (${key}, ${marks.join(", ")})
        ON CONFLICT (at) DO UPDATE SET ${changes.join(", ")} WHERE id = excluded.id`,
    );
    this.#deleteBefore = connection.prepare("DELETE FROM run WHERE at < ?");
  }

  /** Writes a record in place of an earlier one of the same run. */
  put(record: RunRecord): void {
    const values = runValues(record);
    let first = record.startedAt * KEYS_PER_MS;
    while (this.#put.run(first, ...values).changes === 0) first += KEYS_PER_MS;
  }

  deleteBefore(ms: number): void {
    this.#deleteBefore.run(ms * KEYS_PER_MS);
  }
}

function runValues(record: RunRecord): SQLInputValue[] {
  const { start, usage } = record;
  return [
    record.id,
    record.requestIds.join(","),
    record.principalId,
    record.driver ?? null,
    text(record.model),
    record.conversation ?? null,
    record.upstreamConversation === undefined ? null : idValue(record.upstreamConversation),
    text(record.account),
    start.type,
    start.type === "replayed" ? start.reason : null,
    record.parkedMs,
    record.durationMs,
    record.outcome,
    usage?.inputTokens ?? null,
    usage?.outputTokens ?? null,
    usage?.cachedTokens ?? null,
    usage?.cacheWrittenTokens ?? null,
    usage?.reasoningTokens ?? null,
    record.usageOrigin ?? null,
  ];
}

/** Returns the 16 bytes of a UUID, which take half the space of its text; any other text as it is. */
export function idValue(id: string): string | Uint8Array {
  const hex = id.replaceAll("-", "");
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? Buffer.from(hex, "hex") : id.slice(0, MAX_ID);
}

const MAX_ID = 128;
