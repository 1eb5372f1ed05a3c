import type { DatabaseSync } from "node:sqlite";
import type { RequestRows } from "./request-rows.ts";

export interface RowPrunerOptions {
  /** Rows that are older are deleted. */
  readonly maxAgeMs: number;
  /** If the file has more in use, the oldest rows are deleted. */
  readonly maxBytes: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The rows that are deleted by age. The requests decide how many are deleted when the file is too large. */
export interface PrunedRows {
  readonly requests: Pick<RequestRows, "deleteBefore" | "startAfter">;
  readonly others: readonly { deleteBefore(ms: number): void }[];
}

const PRUNE_MS = 10 * 60_000;
/** The part of the rows that is deleted when the file is too large. */
const PRUNED_PART = 0.05;
/** A clock that has moved further than time has passed is set anew, or was wrong. */
const MAX_CLOCK_JUMP_MS = 86_400_000;

/** Deletes old rows, at most every ten minutes. */
export class RowPruner {
  readonly #rows: PrunedRows;
  readonly #options: RowPrunerOptions;
  readonly #usedBytes: ReturnType<DatabaseSync["prepare"]>;
  readonly #openedAt: number;
  readonly #openedMs = performance.now();
  #prunedAt = Number.NEGATIVE_INFINITY;

  constructor(connection: DatabaseSync, rows: PrunedRows, options: RowPrunerOptions) {
    this.#rows = rows;
    this.#options = options;
    this.#openedAt = options.now();
    this.#usedBytes = connection.prepare(
      `SELECT (page_count - freelist_count) * page_size AS bytes
        FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()`,
    );
  }

  prune(): void {
    if (performance.now() - this.#prunedAt < PRUNE_MS) return;
    this.#prunedAt = performance.now();
    const { maxAgeMs, maxBytes, now } = this.#options;
    if (this.#isClockSteady()) this.#deleteBefore(now() - maxAgeMs);
    const used = this.#usedBytes.get()?.["bytes"] as number;
    if (used <= maxBytes) return;
    const next = this.#rows.requests.startAfter(Math.max(PRUNED_PART, 1 - maxBytes / used));
    if (next !== undefined) this.#deleteBefore(next);
  }

  #deleteBefore(ms: number): void {
    for (const rows of [this.#rows.requests, ...this.#rows.others]) rows.deleteBefore(ms);
  }

  /** False if the clock has jumped since the start. No row is too old by such a clock. */
  #isClockSteady(): boolean {
    const jumpedMs = this.#options.now() - this.#openedAt - (performance.now() - this.#openedMs);
    return Math.abs(jumpedMs) <= MAX_CLOCK_JUMP_MS;
  }
}
