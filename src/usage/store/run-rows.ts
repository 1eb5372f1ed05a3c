import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import type { RunRecord } from "../record/records.ts";
import { KEYS_PER_MS, text } from "./row-values.ts";

const COLUMNS = [
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
    const changes = COLUMNS.slice(2).map((name) => `${name} = excluded.${name}`);
    this.#put = connection.prepare(
      `INSERT INTO run VALUES (${COLUMNS.map(() => "?").join(", ")})
        ON CONFLICT (at) DO UPDATE SET ${changes.join(", ")} WHERE id = excluded.id`,
    );
    this.#deleteBefore = connection.prepare("DELETE FROM run WHERE at < ?");
  }

  /** Writes a record in place of an earlier one of the same run. */
  put(record: RunRecord): void {
    const values = runValues(record);
    // The first key of its millisecond that is free or its own.
    let at = record.startedAt * KEYS_PER_MS;
    while (this.#put.run(at, ...values).changes === 0) at++;
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
