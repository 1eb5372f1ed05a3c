import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** What it was called before the last change. */
export const previousOf = (path: string): string => `${path}.previous`;

/**
 * Replaces a file of ours: whole or not at all, on the disk when this returns, for its owner alone, and never through a
 * link that somebody planted (SEC-10, SEC-11). The one before may be kept beside it. One writer at a time: hold a lock.
 */
export function writePrivate(path: string, text: string, { keepsPrevious }: { readonly keepsPrevious: boolean }): void {
  sweep(path);
  const temporary = `${path}.${randomBytes(8).toString("hex")}.new`;
  try {
    writeWhole(temporary, Buffer.from(text));
    rmSync(previousOf(path), { force: true });
    if (keepsPrevious) keepPrevious(path);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

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

/** What a writer left that was killed. */
function sweep(path: string): void {
  const [folder, name] = [dirname(path), basename(path)];
  for (const found of readdirSync(folder)) {
    if (found.startsWith(`${name}.`) && found.endsWith(".new")) rmSync(join(folder, found), { force: true });
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
