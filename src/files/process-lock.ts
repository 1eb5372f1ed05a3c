import { closeSync, openSync } from "node:fs";
import { basename } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { ExcursorError } from "../core/errors.ts";
import { fileError } from "./file-error.ts";

/** Runs one piece of work at a time, across all processes that use the same lock file. */
export interface ProcessLock {
  run<T>(work: () => Promise<T> | T): Promise<T>;
}

export interface LockOptions {
  /** How long to wait for the current holder. Default: 45 s. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 45_000;
const SQLITE_BUSY = 5;

/**
 * Creates a lock on an empty file, by SQLite's own file lock. The kernel holds it for the process and releases it when the
 * process dies, so there are no stale locks: no process ids to check and no timeouts to guess.
 */
export function createProcessLock(path: string, { patienceMs = PATIENCE_MS }: LockOptions = {}): ProcessLock {
  return {
    async run(work) {
      const { DatabaseSync } = await import("node:sqlite");
      const connection = await acquire(DatabaseSync, path, performance.now() + patienceMs);
      try {
        return await work();
      } finally {
        connection.close();
      }
    },
  };
}

async function acquire(Database: typeof DatabaseSync, path: string, until: number): Promise<DatabaseSync> {
  const connection = open(Database, path);
  try {
    connection.exec("PRAGMA busy_timeout = 0");
    while (!begin(connection)) {
      if (performance.now() > until) throw held(path);
      await sleep(5 + Math.random() * 20);
    }
    return connection;
  } catch (error) {
    connection.close();
    throw unusable(path, error);
  }
}

function open(Database: typeof DatabaseSync, path: string): DatabaseSync {
  try {
    closeSync(openSync(path, "a", 0o600));
    return new Database(path);
  } catch (error) {
    throw unusable(path, error);
  }
}

const unusable = (path: string, error: unknown): ExcursorError => fileError(error, `lock ${path}`, "lock_unusable");

function begin(connection: DatabaseSync): boolean {
  try {
    connection.exec("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if ((((error as { errcode?: number }).errcode ?? 0) & 0xff) === SQLITE_BUSY) return false;
    throw error;
  }
}

const held = (path: string): ExcursorError => new ExcursorError("locked", [basename(path)]);
