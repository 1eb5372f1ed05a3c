import type { DatabaseSync } from "node:sqlite";
import { STATE_SCHEMA } from "./schema.ts";
import { requireSchema } from "./schema-version.ts";
import { checkShares } from "./shared-table.ts";
import { Damaged } from "./sqlite-failure.ts";

/** SQLite calls are synchronous, so waiting for another process blocks the event loop. */
const BUSY_TIMEOUT_MS = 500;

/** Opens a file, creates the schema in a new one, and checks its integrity. Takes about 2 ms for each MiB. */
export function openConnection(Database: typeof DatabaseSync, path: string): DatabaseSync {
  const connection = new Database(path);
  try {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    connection.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    const verdict = connection.prepare("PRAGMA integrity_check(1)").get()?.["integrity_check"];
    if (verdict !== "ok") throw new Damaged();
    requireSchema(connection, STATE_SCHEMA);
    checkSchema(connection, Database);
    checkShares(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Without SQLite's internal objects (`sqlite_…`). */
const SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY name";

/** Throws if the schema is not exactly the one of its version. */
function checkSchema(connection: DatabaseSync, Database: typeof DatabaseSync): void {
  const pristine = new Database(":memory:");
  requireSchema(pristine, STATE_SCHEMA);
  const [actual, expected] = [connection, pristine].map((database) => JSON.stringify(database.prepare(SCHEMA).all()));
  pristine.close();
  if (actual !== expected) throw new Damaged();
}
