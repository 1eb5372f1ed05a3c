import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { FileSystem } from "./file-system.ts";

/** Mode and owner of a file. Without `uid` and `gid` it belongs to whoever writes it. */
interface FileOwner {
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

const PRIVATE: FileOwner = { mode: 0o600 };

/** Part of the name of every file that is not finished. */
export const TEMPORARY = ".excursor-";

/** Returns a new name beside a file, for the file that will replace it. */
export const temporaryOf = (path: string): string => `${path}${TEMPORARY}${randomBytes(8).toString("hex")}`;

/**
 * Writes a new file and syncs it to the disk; removes it if that fails. Never writes to a file or through a link that
 * exists (SEC-11).
 */
export function writeNewFile(files: FileSystem, path: string, chunks: Iterable<Uint8Array>, owner = PRIVATE): void {
  const file = files.openSync(path, "wx", PRIVATE.mode);
  try {
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.length; ) at += files.writeSync(file, chunk, at);
    }
    setOwner(files, file, owner);
    files.fsyncSync(file);
  } catch (error) {
    files.closeSync(file);
    files.unlinkSync(path);
    throw error;
  }
  files.closeSync(file);
}

function setOwner(files: FileSystem, file: number, { mode, uid, gid }: FileOwner): void {
  // Windows has neither owners nor modes.
  if (process.getuid === undefined) return;
  if (uid !== undefined && gid !== undefined) {
    const stats = files.fstatSync(file);
    // Before the mode: a change of owner may clear bits of it.
    if (stats.uid !== uid || stats.gid !== gid) files.fchownSync(file, uid, gid);
  }
  files.fchmodSync(file, mode & 0o7777);
}

/** Replaces a file atomically: after a crash or a power cut there is the old content or the new one, never a part. */
export function replaceFile(files: FileSystem, path: string, content: Uint8Array | string, owner = PRIVATE): void {
  const temporary = temporaryOf(path);
  writeNewFile(files, temporary, [typeof content === "string" ? Buffer.from(content) : content], owner);
  try {
    files.renameSync(temporary, path);
  } catch (error) {
    files.unlinkSync(temporary);
    throw error;
  }
  syncFolder(files, dirname(path));
}

/** Syncs the names in a folder to the disk. Windows cannot, and does not need to. */
export function syncFolder(files: FileSystem, path: string): void {
  if (process.platform === "win32") return;
  const folder = files.openSync(path, constants.O_RDONLY);
  try {
    files.fsyncSync(folder);
  } finally {
    files.closeSync(folder);
  }
}

export function removeFile(files: FileSystem, path: string): void {
  try {
    files.unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** Without a lock, another process may still be writing a temporary file that is younger than this. */
export const STALE_MS = 60_000;

/** Removes the temporary files that killed writers of `path` have left behind. */
export function sweepTemporaries(files: FileSystem, path: string, minAgeMs: number): void {
  const folder = dirname(path);
  for (const name of files.readdirSync(folder)) {
    if (!name.startsWith(`${basename(path)}${TEMPORARY}`)) continue;
    const file = join(folder, name);
    const stats = files.lstatSync(file, { throwIfNoEntry: false });
    if (stats && Date.now() - stats.mtimeMs >= minAgeMs) files.rmSync(file, { force: true });
  }
}
