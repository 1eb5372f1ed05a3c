import type { DatabaseSync } from "node:sqlite";
import type { Unsettled, UnsettledAmounts } from "../limits/unsettled.ts";

/** The cluster knows for a day what it has counted. Rows that are older may have been, so they are forgotten. */
const MAX_AGE_MS = 12 * 3_600_000;

const MAX_LEFT = 10_000;

interface RowsOptions {
  readonly now: () => number;
  readonly isOpen: () => boolean;
  /** Called if the file has to be changed. */
  readonly onChange: () => void;
}

/** Keeps unsettled amounts in the usage record. A row is written together with the record of its request. */
export class UnsettledRows implements UnsettledAmounts {
  readonly #options: RowsOptions;
  readonly #sql: ReturnType<typeof prepare>;
  /** Those of this process. */
  readonly #own = new Map<string, Unsettled>();
  readonly #written = new Set<string>();
  /** Settled, and still in the file. */
  readonly #dropped = new Set<string>();

  constructor(connection: DatabaseSync, options: RowsOptions) {
    this.#options = options;
    this.#sql = prepare(connection);
  }

  /** True if the file differs from what is known here. */
  get isChanged(): boolean {
    return this.#dropped.size > 0 || this.#own.size > this.#written.size;
  }

  put(request: Unsettled): void {
    this.#own.set(request.id, request);
    this.#options.onChange();
  }

  drop(id: string): void {
    const isOwn = this.#own.delete(id);
    if (isOwn && !this.#written.has(id)) return;
    this.#dropped.add(id);
    this.#options.onChange();
  }

  of(principalId: string): readonly Unsettled[] {
    const own = [...this.#own.values()].filter((request) => request.principalId === principalId);
    return [...own, ...this.#others(() => this.#sql.of.all(principalId))];
  }

  left(): readonly Unsettled[] {
    return this.#others(() => this.#sql.all.all(this.#options.now() - MAX_AGE_MS));
  }

  /** To be called in a transaction. */
  write(): void {
    const now = this.#options.now();
    for (const [id, { principalId, conversation, liftedAt, claims, spent }] of this.#own) {
      if (this.#written.has(id)) continue;
      const rest = JSON.stringify({ conversation, liftedAt, claims, spent });
      this.#sql.put.run(id, principalId, now, rest);
    }
    for (const id of this.#dropped) this.#sql.drop.run(id);
    this.#sql.dropOld.run(now - 2 * MAX_AGE_MS);
  }

  /** To be called after the transaction. */
  written(): void {
    for (const id of this.#dropped) this.#written.delete(id);
    this.#dropped.clear();
    for (const id of this.#own.keys()) this.#written.add(id);
  }

  #others(read: () => readonly unknown[]): readonly Unsettled[] {
    if (!this.#options.isOpen()) return [];
    return (read() as readonly Row[])
      .filter(({ id }) => !this.#own.has(id) && !this.#dropped.has(id))
      .map(({ id, principal, rest }) => ({ id, principalId: principal, ...(JSON.parse(rest) as Rest) }));
  }
}

type Rest = Omit<Unsettled, "id" | "principalId">;

interface Row {
  readonly id: string;
  readonly principal: string;
  readonly rest: string;
}

const prepare = (connection: DatabaseSync) => ({
  put: connection.prepare("INSERT OR IGNORE INTO unsettled VALUES (?, ?, ?, ?)"),
  drop: connection.prepare("DELETE FROM unsettled WHERE id = ?"),
  dropOld: connection.prepare("DELETE FROM unsettled WHERE at < ?"),
  of: connection.prepare("SELECT id, principal, rest FROM unsettled WHERE principal = ?"),
  all: connection.prepare(`SELECT id, principal, rest FROM unsettled WHERE at >= ? LIMIT ${MAX_LEFT}`),
});
