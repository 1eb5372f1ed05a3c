import type { DatabaseSync } from "node:sqlite";
import { ExcursorError } from "../core/errors.ts";
import { fileError } from "../files/file-error.ts";
import { openConnection } from "./connection.ts";
import { isBusy, isCorrupt } from "./sqlite-failure.ts";
import { quarantine } from "./state-file.ts";
import { type Begin, inTransaction } from "./transaction.ts";

/** What we keep between two runs of the program. Several processes may have the same one open. */
export interface StateDatabase {
  readonly connection: DatabaseSync;
  /**
   * Each does all of its work or nothing, and gives the fallback if it was nothing: a full disk or a locked file is no
   * reason to fail a request. What is read is all of one moment.
   */
  read<T>(work: () => T, fallback: T): T;
  write<T>(work: () => T, fallback: T): T;
  close(): void;
}

export interface StateOptions {
  /** Told what an operator should know, at most once a minute. */
  readonly onNotice?: (notice: StateNotice) => void;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
}

export interface StateNotice {
  readonly code: "state_quarantined" | "state_failed";
  readonly text: string;
}

const NOTICE_INTERVAL_MS = 60_000;

/** Opens the database of this path, or one that is gone with the process (`:memory:`). Makes it if need be. */
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
  try {
    return openConnection(Database, path);
  } catch (error) {
    if (!isCorrupt(error)) throw unusable(error);
    const aside = quarantine(path);
    const text = `The state file was damaged. A new one was begun; the old one is kept at ${aside}.`;
    onNotice({ code: "state_quarantined", text });
  }
  try {
    return openConnection(Database, path);
  } catch (error) {
    throw unusable(error);
  }
}

/** Not imported at the top: an old Node has no such module, and must live to say so. */
async function loadSqlite(): Promise<typeof DatabaseSync> {
  try {
    return (await import("node:sqlite")).DatabaseSync;
  } catch (cause) {
    throw new ExcursorError("config", `Keeping state needs Node 22.13 or later; this is ${process.version}.`, {
      code: "node_too_old",
      hint: "Install a newer Node from https://nodejs.org.",
      cause,
    });
  }
}

const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");

function unusable(error: unknown): ExcursorError {
  if (error instanceof ExcursorError) return error;
  const failure = fileError(error, "open the state file");
  if (failure.kind === "io") return failure;
  return new ExcursorError(isBusy(error) ? "busy" : "config", `The state file cannot be opened: ${reasonOf(error)}.`, {
    code: "state_unusable",
    cause: error,
  });
}
