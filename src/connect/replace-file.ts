import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/** Replaces a file of somebody else's, whole or not at all. */
export function replaceFile(path: string, bytes: Buffer, mode: number): void {
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
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
    throw error;
  }
}
