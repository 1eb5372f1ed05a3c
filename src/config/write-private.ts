import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileError } from "../core/file-error.ts";

/** What it was called before the last change. */
export const previousOf = (path: string): string => `${path}.previous`;

/**
 * Replaces a file of ours: whole or not at all, on the disk when this returns, for its owner alone, and never through a
 * link that somebody planted (SEC-10, SEC-11). The one before may be kept beside it. One writer at a time: hold a lock.
 */
export function writePrivate(path: string, text: string, { keepsPrevious }: { readonly keepsPrevious: boolean }): void {
  const temporary = temporaryOf(path);
  try {
    sweep(path);
    writeWhole(temporary, Buffer.from(text));
    rmSync(previousOf(path), { force: true });
    if (keepsPrevious) keepPrevious(path);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw fileError(error, `write ${path}`);
  }
  syncFolder(dirname(path));
}

/** A name beside a file for what shall take its place. */
export const temporaryOf = (path: string): string => `${path}.${randomBytes(8).toString("hex")}.new`;

function writeWhole(path: string, bytes: Buffer): void {
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  // Windows has no O_NOFOLLOW; nothing can be there already, for O_EXCL.
  const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), 0o600);
  try {
    fchmodSync(file, 0o600);
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function keepPrevious(path: string): void {
  try {
    linkSync(path, previousOf(path));
  } catch (error) {
    // The first time there is none; some file systems know no links.
    if (!["ENOENT", "EPERM", "ENOTSUP"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** Removes what killed writers have left. Whoever holds no lock must spare what is young: it may be somebody's at work. */
export function sweep(path: string, minAgeMs = 0): void {
  const [folder, name] = [dirname(path), basename(path)];
  for (const found of readdirSync(folder)) {
    if (!found.startsWith(`${name}.`) || !found.endsWith(".new")) continue;
    const file = join(folder, found);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats && Date.now() - stats.mtimeMs >= minAgeMs) rmSync(file, { force: true });
  }
}

/** Else a power cut could bring the old name back. */
function syncFolder(path: string): void {
  if (process.platform === "win32") return;
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
