import type { DatabaseSync } from "node:sqlite";

/** Who means to write takes the lock at once: one that is taken halfway cannot be waited for. */
export type Begin = "BEGIN" | "BEGIN IMMEDIATE";

export function inTransaction<T>(connection: DatabaseSync, begin: Begin, work: () => T): T {
  connection.exec(begin);
  try {
    const result = work();
    connection.exec("COMMIT");
    return result;
  } catch (error) {
    rollBack(connection);
    throw error;
  }
}

/** SQLite may have done so itself, on a full disk for one; Node 22.13 cannot tell. */
function rollBack(connection: DatabaseSync): void {
  try {
    connection.exec("ROLLBACK");
  } catch {}
}
