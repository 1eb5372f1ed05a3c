import type { DatabaseSync } from "node:sqlite";

/** A writer takes the lock at the start (`BEGIN IMMEDIATE`): SQLite does not wait when a read lock is upgraded. */
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

/** SQLite may have rolled back itself, for example on a full disk. Node 22.13 cannot tell, so errors are ignored. */
function rollBack(connection: DatabaseSync): void {
  try {
    connection.exec("ROLLBACK");
  } catch {}
}
