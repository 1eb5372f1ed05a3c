import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { dirname } from "node:path";
import type { IdeFiles } from "./ide-files.ts";

/** A SHA-256, in hex: what a file is known by. */
export type Digest = string & { readonly __brand: "Digest" };

export interface Owner {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

const PRIVATE_MODE = 0o600;
const CHUNK_BYTES = 1024 * 1024;
/** Where the system has it: a link in the last place is never followed. */
const NO_FOLLOW = constants.O_NOFOLLOW ?? 0;

export function digestOf(chunks: Iterable<Uint8Array>): Digest {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex") as Digest;
}

/** The digest of a file as it is on the disk; undefined if there is none. Never holds more than a piece of it. */
export function digestFile(files: IdeFiles, path: string): Digest | undefined {
  if (files.lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  return digestOf(readChunks(files, path));
}

export function* readChunks(files: IdeFiles, path: string): Generator<Uint8Array> {
  const file = files.openSync(path, constants.O_RDONLY | NO_FOLLOW);
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let length = files.readSync(file, buffer); length > 0; length = files.readSync(file, buffer)) {
      yield buffer.subarray(0, length);
    }
  } finally {
    files.closeSync(file);
  }
}

/** Makes a new file, whole and on the disk when this returns; one that cannot be is taken away again (SEC-11). */
export function writeNewFile(files: IdeFiles, path: string, chunks: Iterable<Uint8Array>, owner?: Owner): void {
  const file = files.openSync(path, "wx", PRIVATE_MODE);
  try {
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.length; ) at += files.writeSync(file, chunk, at);
    }
    if (owner) setOwner(files, file, owner);
    files.fsyncSync(file);
  } catch (error) {
    files.closeSync(file);
    files.unlinkSync(path);
    throw error;
  }
  files.closeSync(file);
}

function setOwner(files: IdeFiles, file: number, { mode, uid, gid }: Owner): void {
  const stats = files.fstatSync(file);
  // Windows has neither. The owner first: a change of it may take bits of the mode away.
  if (process.getuid === undefined) return;
  if (stats.uid !== uid || stats.gid !== gid) files.fchownSync(file, uid, gid);
  files.fchmodSync(file, mode & 0o7777);
}

/** Puts text in the place of a file of ours: the old one or the new one, never a part, also after a power cut. */
export function replaceFile(files: IdeFiles, path: string, text: string): void {
  const temporary = `${path}${TEMPORARY}${randomBytes(8).toString("hex")}`;
  writeNewFile(files, temporary, [Buffer.from(text)]);
  try {
    files.renameSync(temporary, path);
  } catch (error) {
    files.unlinkSync(temporary);
    throw error;
  }
  syncFolder(files, dirname(path));
}

/** In the name of every file that is not finished. */
export const TEMPORARY = ".excursor-";

/** Makes the names in a folder last. Windows cannot, and does not need to. */
export function syncFolder(files: IdeFiles, path: string): void {
  if (process.platform === "win32") return;
  const folder = files.openSync(path, constants.O_RDONLY);
  try {
    files.fsyncSync(folder);
  } finally {
    files.closeSync(folder);
  }
}

export function removeFile(files: IdeFiles, path: string): void {
  try {
    files.unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
