import fs from "node:fs";
import { replaceFile, STALE_MS, sweepTemporaries } from "./durable-file.ts";
import { fileError } from "./file-error.ts";

export interface WriteOptions {
  /** Default: readable and writable by its owner alone (SEC-10). */
  readonly mode?: number;
  /** What happens to the copy of the old content, see {@link previousOf}. Default: no copy is made or removed. */
  readonly previous?: "keep" | "remove";
  /** The caller holds no lock: temporary files of other writers are left alone until they are stale. */
  readonly isUnlocked?: boolean;
}

/** Returns the name of the file that holds the content before the last change. */
export const previousOf = (path: string): string => `${path}.previous`;

/** Replaces a file atomically, with an error message for people. */
export function writePrivate(path: string, content: Uint8Array | string, options: WriteOptions = {}): void {
  const { mode = 0o600, previous, isUnlocked = false } = options;
  try {
    sweepTemporaries(fs, path, isUnlocked ? STALE_MS : 0);
    if (previous) fs.rmSync(previousOf(path), { force: true });
    if (previous === "keep") keepPrevious(path);
    replaceFile(fs, path, content, { mode });
  } catch (error) {
    throw fileError(error, `write ${path}`);
  }
}

function keepPrevious(path: string): void {
  try {
    fs.linkSync(path, previousOf(path));
  } catch (error) {
    // There is no previous file at the first write; some file systems have no links.
    if (!["ENOENT", "EPERM", "ENOTSUP"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
