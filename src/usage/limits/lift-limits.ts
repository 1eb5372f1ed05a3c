import type { DatabaseSync } from "node:sqlite";
import { inTransaction } from "../../state/transaction.ts";

/** The fact with this and the id of a principal is when its limits were lifted last, in milliseconds since the epoch. */
export const LIFTED = "lifted ";

/**
 * Forgets what a principal has used as far as limits are concerned, with the requests that are under way. Its records stay.
 * A running gateway follows at once.
 */
export function liftLimits(connection: DatabaseSync, principalId: string, nowMs: number): void {
  inTransaction(connection, "BEGIN IMMEDIATE", () => writeLift(connection, principalId, nowMs));
}

/** The same in a transaction of the caller. */
export function writeLift(connection: DatabaseSync, principalId: string, ms: number): void {
  connection.prepare("DELETE FROM spent WHERE principal = ?").run(principalId);
  connection.prepare("INSERT OR REPLACE INTO fact VALUES (?, ?)").run(LIFTED + principalId, ms);
}
