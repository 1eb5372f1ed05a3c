import type { DatabaseSync } from "node:sqlite";
import type { Charge } from "../../core/charge.ts";
import { inTransaction } from "../../state/transaction.ts";
import { text } from "./row-values.ts";
import { idValue } from "./run-rows.ts";

/** The rows of what an upstream has charged. */
export class ChargeRows {
  readonly #connection: DatabaseSync;
  readonly #delete: ReturnType<DatabaseSync["prepare"]>;
  readonly #insert: ReturnType<DatabaseSync["prepare"]>;
  readonly #deleteBefore: ReturnType<DatabaseSync["prepare"]>;
  readonly #latest: ReturnType<DatabaseSync["prepare"]>;

  constructor(connection: DatabaseSync) {
    this.#connection = connection;
    this.#delete = connection.prepare("DELETE FROM charge WHERE account = ? AND at >= ? AND at <= ?");
    this.#insert = connection.prepare("INSERT INTO charge VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#deleteBefore = connection.prepare("DELETE FROM charge WHERE at < ?");
    this.#latest = connection.prepare("SELECT max(at) AS at FROM charge WHERE account = ?");
  }

  /**
   * Replaces all charges of an account in a range of time, both ends included. Charges have no ids and change for a while
   * after the call, so a range is always replaced as a whole: none is counted twice.
   */
  replace(
    account: string,
    { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
    all: readonly Charge[],
  ): void {
    inTransaction(this.#connection, "BEGIN IMMEDIATE", () => {
      this.#delete.run(account, fromMs, untilMs);
      for (const charge of all) {
        if (charge.at < fromMs || charge.at > untilMs) continue;
        const { at, conversationId, model, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = charge;
        const tokens = [inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens];
        const money = [charge.costMicros, charge.chargedMicros];
        this.#insert.run(account, at, idValue(conversationId), text(model), ...tokens, ...money);
      }
    });
  }

  /** When the latest known charge of an account was made; undefined if there is none. */
  latest(account: string): number | undefined {
    const at = this.#latest.get(account)?.["at"];
    return typeof at === "number" ? at : undefined;
  }

  deleteBefore(ms: number): void {
    this.#deleteBefore.run(ms);
  }
}
