import type { DatabaseSync } from "node:sqlite";
import { ExcursorError } from "../core/errors.ts";
import { fileError } from "../files/file-error.ts";
import { openOrPutAside } from "./open-or-put-aside.ts";
import { openConnection } from "./open-sqlite.ts";
import { isBusy } from "./sqlite-failure.ts";
import { type Begin, inTransaction } from "./transaction.ts";

/** The database that persists between runs of the program. Several processes may have it open. */
export interface StateDatabase {
  readonly connection: DatabaseSync;
  /**
   * `read` and `write` run the work in a transaction and return the fallback if it fails: a full disk or a locked file
   * must not fail a request. A read sees a single snapshot.
   */
  read<T>(work: () => T, fallback: T): T;
  write<T>(work: () => T, fallback: T): T;
  close(): void;
}

export interface StateOptions {
  /** Called with messages for the operator, at most once a minute. */
  readonly onNotice?: (notice: StateNotice) => void;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

export interface StateNotice {
  readonly code: "state_put_aside" | "state_failed";
  readonly text: string;
}

const NOTICE_INTERVAL_MS = 60_000;

/** Opens or creates the database at this path. `:memory:` opens one that ends with the process. */
export async function openStateDatabase(path: string, options: StateOptions = {}): Promise<StateDatabase> {
  const { onNotice = () => undefined, now = () => performance.now() } = options;
  const connection = await openSound(path, onNotice);
  let noticedAt = Number.NEGATIVE_INFINITY;
  let isOpen = true;
  const attempt = <T>(begin: Begin, work: () => T, fallback: T): T => {
    if (!isOpen) return fallback;
    try {
      return inTransaction(connection, begin, work);
    } catch (error) {
      if (now() - noticedAt >= NOTICE_INTERVAL_MS) {
        noticedAt = now();
        onNotice({ code: "state_failed", text: `The state could not be read or written: ${reasonOf(error)}.` });
      }
      return fallback;
    }
  };
  return {
    connection,
    read: (work, fallback) => attempt("BEGIN", work, fallback),
    write: (work, fallback) => attempt("BEGIN IMMEDIATE", work, fallback),
    close() {
      if (isOpen) connection.close();
      isOpen = false;
    },
  };
}

async function openSound(path: string, onNotice: (notice: StateNotice) => void): Promise<DatabaseSync> {
  const Database = await loadSqlite();
  const open = () => openConnection(Database, path);
  if (path === ":memory:") return open();
  const onAside = (text: string) => onNotice({ code: "state_put_aside", text });
  try {
    return await openOrPutAside({ path, name: "state file", open, onAside });
  } catch (error) {
    throw unusable(error);
  }
}

/** Imported here because old Node versions lack the module; they get a clear error instead. */
export async function loadSqlite(): Promise<typeof DatabaseSync> {
  try {
    return (await import("node:sqlite")).DatabaseSync;
  } catch (cause) {
    throw new ExcursorError("node_too_old", [process.version], { cause });
  }
}

const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");

function unusable(error: unknown): ExcursorError {
  if (error instanceof ExcursorError) return error;
  const failure = fileError(error, "open the state file");
  if (failure.kind === "io") return failure;
  return new ExcursorError("state_unusable", [reasonOf(error)], {
    kind: isBusy(error) ? "busy" : "config",
    cause: error,
  });
}
