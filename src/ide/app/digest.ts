import { createHash } from "node:crypto";
import { constants } from "node:fs";
import type { FileSystem } from "../../files/file-system.ts";
import type { ChecksumAlgorithm } from "./checksums.ts";

/** A SHA-256 in hex that identifies the content of a file. */
export type Digest = string & { readonly __brand: "Digest" };

const CHUNK_BYTES = 1024 * 1024;

export const digestOf = (chunks: Iterable<Uint8Array>): Digest => hashOf("sha256", chunks).toString("hex") as Digest;

export function hashOf(algorithm: ChecksumAlgorithm, chunks: Iterable<Uint8Array>): Buffer {
  const hash = createHash(algorithm);
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest();
}

/** Returns the digest of a file on the disk; undefined if there is no file. Reads it in chunks. */
export function digestFile(files: FileSystem, path: string): Digest | undefined {
  if (files.lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  return digestOf(readChunks(files, path));
}

export function* readChunks(files: FileSystem, path: string): Generator<Uint8Array> {
  // Windows has no O_NOFOLLOW.
  const file = files.openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    for (let length = files.readSync(file, buffer); length > 0; length = files.readSync(file, buffer)) {
      yield buffer.subarray(0, length);
    }
  } finally {
    files.closeSync(file);
  }
}
