import { crc32 } from "node:zlib";

/**
 * Checksums over a stored value and its key. SQLite detects a broken page, but neither a changed byte inside a value
 * nor an index entry that leads to the wrong row. A checkpoint of another history is worse than none.
 */
export function sealBlob(name: string, data: Uint8Array): number {
  return crc32(data, crc32(name));
}

export interface SealedCheckpoint {
  readonly principal: Uint8Array;
  readonly history: string;
  readonly conversation: string;
  readonly state: Uint8Array;
}

export function sealCheckpoint(checkpoint: SealedCheckpoint, blobNames: Iterable<string>): number {
  const { principal, history, conversation, state } = checkpoint;
  const key = JSON.stringify([history, conversation, [...blobNames].sort()]);
  return crc32(state, crc32(key, crc32(principal)));
}

export function sealRound(principal: Uint8Array, id: string, position: number, body: string): number {
  return crc32(body, crc32(JSON.stringify([id, position]), crc32(principal)));
}
