import { chmodSync, renameSync, rmSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { ExcursorError } from "../core/errors.ts";
import { temporaryOf } from "../files/durable-file.ts";

/** Returns the name of the copy that is made before a database is migrated. There is one; the next replaces it. */
export const backupOf = (path: string): string => `${path}.before-upgrade`;

/**
 * Copies a database before it is migrated, so that the version of Excursor before can be used again. The caller holds
 * the write lock, so the copy is of the old version. Throws if the copy cannot be made; nothing is migrated then.
 */
export function backUpDatabase(Database: typeof DatabaseSync, path: string): void {
  const temporary = temporaryOf(path);
  try {
    const reader = new Database(path);
    try {
      reader.prepare("VACUUM INTO ?").run(temporary);
    } finally {
      reader.close();
    }
    chmodSync(temporary, 0o600);
    renameSync(temporary, backupOf(path));
  } catch (cause) {
    rmSync(temporary, { force: true });
    throw new ExcursorError("io", `${path} was not upgraded, because it could not be copied first.`, {
      code: "no_backup",
      hint: "Make room on the disk, and check that you can write to the folder. Then start again.",
      cause,
    });
  }
}
