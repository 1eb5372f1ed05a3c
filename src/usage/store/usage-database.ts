import type { DatabaseSync } from "node:sqlite";
import { ExcursorError } from "../../core/errors.ts";
import { openOrPutAside } from "../../state/open-or-put-aside.ts";
import { requireSchema, type VersionedSchema, versionOf } from "../../state/schema-version.ts";
import { loadSqlite } from "../../state/state-database.ts";

/** A write waits no longer for another process; the batch is tried again a second later. */
const BUSY_TIMEOUT_MS = 100;
/** The ids in the indexes are random, so a batch changes many pages. In SQLite's own 2 MB it would write them twice. */
const CACHE_KIB = 8000;
/** The log is copied to the file when it has so many pages of 4 KiB; pages that changed several times are copied once. */
const LOG_PAGES = 4000;

/**
 * `request.at` and `run.at` are the start in milliseconds × 1024, made unique, so that a range of time is a range of the
 * table. `run.requests` has the ids of its requests, with commas. `charge` has what Cursor says that it charged, and
 * `charge.conversation` is what `run.upstream_conversation` is: Cursor's id.
 * `spent` has the sums of each principal by UTC hour; limits read it, and it outlives the rows that it sums up.
 * Raise the version with every change: a file of another version is put aside.
 */
const SCHEMA: VersionedSchema = {
  version: 9,
  sql: `
  CREATE TABLE request (
    at INTEGER PRIMARY KEY, id TEXT NOT NULL, principal TEXT NOT NULL, key_name TEXT NOT NULL, client TEXT NOT NULL,
    face TEXT NOT NULL, route TEXT NOT NULL, model_asked TEXT, model TEXT, driver TEXT, conversation TEXT,
    status INTEGER NOT NULL, error TEXT, first_ms REAL, ms REAL NOT NULL, phases TEXT NOT NULL,
    input INTEGER, output INTEGER, cached INTEGER, cache_written INTEGER, reasoning INTEGER, origin TEXT,
    run TEXT, run_reason TEXT, cost_micros INTEGER, cost_estimated INTEGER, cost_source TEXT,
    cache_possible INTEGER, cache_reason TEXT
  ) STRICT;
  CREATE INDEX request_conversation ON request (conversation);
  CREATE TABLE tool_call (
    call_id TEXT NOT NULL, scope TEXT NOT NULL, request_id TEXT NOT NULL, principal TEXT NOT NULL, ran_by TEXT NOT NULL,
    server TEXT, tool TEXT NOT NULL, asked_at INTEGER NOT NULL, answered_at INTEGER, outcome TEXT NOT NULL, bytes INTEGER,
    PRIMARY KEY (call_id, scope)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tool_call_time ON tool_call (asked_at);
  CREATE TABLE spent (
    principal TEXT NOT NULL, hour INTEGER NOT NULL, requests INTEGER NOT NULL, tokens INTEGER NOT NULL,
    micros INTEGER NOT NULL, PRIMARY KEY (principal, hour)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE fact (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE run (
    at INTEGER PRIMARY KEY, id TEXT NOT NULL, requests TEXT NOT NULL, principal TEXT NOT NULL, driver TEXT, model TEXT,
    conversation TEXT, upstream_conversation ANY, account TEXT, start TEXT NOT NULL, start_reason TEXT,
    parked_ms INTEGER NOT NULL, ms INTEGER NOT NULL, outcome TEXT NOT NULL,
    input INTEGER, output INTEGER, cached INTEGER, cache_written INTEGER, reasoning INTEGER, origin TEXT
  ) STRICT;
  CREATE INDEX run_upstream ON run (upstream_conversation) WHERE upstream_conversation IS NOT NULL;
  -- The runs of a conversation are found by the times of its requests. Few runs have no figures of the upstream.
  CREATE INDEX run_inexact ON run (at) WHERE origin IS NOT 'upstream';
  CREATE TABLE charge (
    account TEXT NOT NULL, at INTEGER NOT NULL, conversation ANY NOT NULL, model TEXT NOT NULL,
    input INTEGER NOT NULL, output INTEGER NOT NULL, cached INTEGER NOT NULL, cache_written INTEGER NOT NULL,
    cost_micros INTEGER NOT NULL, charged_micros INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX charge_time ON charge (at);
  CREATE INDEX charge_conversation ON charge (conversation);`,
};

/** Opens the usage record at this path, or one in memory (`:memory:`). A file that is damaged or of another version is put aside. */
export async function openUsageDatabase(path: string, onAside: (text: string) => void): Promise<DatabaseSync> {
  const Database = await loadSqlite();
  const open = () => prepared(new Database(path));
  if (path === ":memory:") return open();
  try {
    return await openOrPutAside({ path, name: "usage record", open, onAside });
  } catch (error) {
    throw unusable(error);
  }
}

/** Opens a usage record for reading; undefined if there is none. Throws if it is of another version. */
export async function openUsageForReading(path: string): Promise<DatabaseSync | undefined> {
  const Database = await loadSqlite();
  const { existsSync } = await import("node:fs");
  if (!existsSync(path)) return undefined;
  try {
    const connection = new Database(path, { readOnly: true });
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    const version = versionOf(connection);
    if (version === SCHEMA.version) return connection;
    connection.close();
    if (version === 0) return undefined;
  } catch (error) {
    throw unusable(error);
  }
  throw new ExcursorError("usage_other_version");
}

function prepared(connection: DatabaseSync): DatabaseSync {
  try {
    connection.exec(
      `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
        PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${LOG_PAGES}`,
    );
    requireSchema(connection, SCHEMA);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

function unusable(cause: unknown): ExcursorError {
  if (cause instanceof ExcursorError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new ExcursorError("usage_unusable", [reason], { cause });
}
