import { randomBytes } from "node:crypto";
import {
  chmodSync,
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileError } from "../core/file-error.ts";

const ENDING = ".excursor-new";

/** What another process is writing right now is younger than this. */
const STALE_MS = 60_000;

/** Replaces a file of somebody else's, whole or not at all. What a killed writer has left beside it goes first. */
export function replaceFile(path: string, bytes: Buffer, mode: number): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}${ENDING}`;
  try {
    sweep(path);
    const file = openSync(temporary, "wx", 0o600);
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    chmodSync(temporary, mode);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw fileError(error, `write ${path}`);
  }
}

function sweep(path: string): void {
  const [folder, name] = [dirname(path), basename(path)];
  for (const found of readdirSync(folder)) {
    if (!found.startsWith(`${name}.`) || !found.endsWith(ENDING)) continue;
    const file = join(folder, found);
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats && Date.now() - stats.mtimeMs >= STALE_MS) rmSync(file, { force: true });
  }
}
