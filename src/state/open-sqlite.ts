import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { ExcursorError } from "../core/errors.ts";
import { backUpDatabase, backupOf } from "./back-up-database.ts";
import { MIGRATIONS } from "./migrations.ts";
import { checkShares } from "./shared-table.ts";
import { Damaged } from "./sqlite-failure.ts";
import { prepareStateFile } from "./state-file.ts";
import { inTransaction } from "./transaction.ts";

/** SQLite calls are synchronous, so waiting for another process blocks the event loop. */
const BUSY_TIMEOUT_MS = 500;

/** Opens a file, migrates it and checks its integrity. Takes about 2 ms for each MiB. */
export function openConnection(Database: typeof DatabaseSync, path: string): DatabaseSync {
  if (path !== ":memory:") prepareStateFile(path);
  const connection = new Database(path);
  try {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    connection.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    const verdict = connection.prepare("PRAGMA integrity_check(1)").get()?.["integrity_check"];
    if (verdict !== "ok") throw new Damaged();
    migrate(connection, path, () => backUpDatabase(Database, path));
    checkSchema(connection, Database);
    checkShares(connection);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function migrate(connection: DatabaseSync, path: string, backUp: () => void): void {
  if (versionOf(connection) === MIGRATIONS.length) return;
  inTransaction(connection, "BEGIN IMMEDIATE", () => {
    // Another process may have migrated it meanwhile.
    const version = versionOf(connection);
    if (version > MIGRATIONS.length) throw tooNew(path);
    if (version > 0 && version < MIGRATIONS.length) backUp();
    for (const step of MIGRATIONS.slice(version)) connection.exec(step);
    connection.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  });
}

const versionOf = (connection: DatabaseSync): number =>
  Number(connection.prepare("PRAGMA user_version").get()?.["user_version"]);

/** Without SQLite's internal objects (`sqlite_…`). */
const SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%' ORDER BY name";

/** Throws if the schema is not exactly the one of its version. */
function checkSchema(connection: DatabaseSync, Database: typeof DatabaseSync): void {
  const pristine = new Database(":memory:");
  migrate(pristine, ":memory:", () => {});
  const [actual, expected] = [connection, pristine].map((database) => JSON.stringify(database.prepare(SCHEMA).all()));
  pristine.close();
  if (actual !== expected) throw new Damaged();
}

const tooNew = (path: string): ExcursorError =>
  new ExcursorError("config", `The state file ${path} was written by a newer Excursor.`, {
    code: "state_too_new",
    hint: `Update Excursor. Or stop it, and replace that file by its copy, ${basename(backupOf(path))}. Or set EXCURSOR_HOME to another folder.`,
  });
