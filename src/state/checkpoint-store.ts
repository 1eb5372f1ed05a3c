import { createHash } from "node:crypto";
import type { Checkpoint, CheckpointStore } from "../core/history/checkpoints.ts";
import { prepareCheckpointStatements } from "./checkpoint-statements.ts";
import { sealBlob, sealCheckpoint } from "./seal.ts";
import { holderOf, MAX_PRINCIPALS, prepareShares } from "./shares.ts";
import type { StateDatabase } from "./state-database.ts";

export interface CheckpointStoreOptions {
  /** Of all states and blobs together; see `ShareLimits`. */
  readonly maxBytes?: number;
  readonly maxCheckpoints?: number;
  readonly maxPrincipals?: number;
  /** How long a checkpoint is of use after it was put. */
  readonly ttlMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const MiB = 1024 * 1024;
const DAY_MS = 86_400_000;

/**
 * Checkpoints that outlive the process. Whoever holds the most makes room, with its oldest. A blob is stored once per conversation
 * of a principal and shared with nobody else.
 */
export function createCheckpointStore(database: StateDatabase, options: CheckpointStoreOptions = {}): CheckpointStore {
  const { maxBytes = 256 * MiB, maxCheckpoints = 10_000, ttlMs = 30 * DAY_MS, now = Date.now } = options;
  const limits = { maxBytes, maxItems: maxCheckpoints, maxPrincipals: options.maxPrincipals ?? MAX_PRINCIPALS };
  const sql = prepareCheckpointStatements(database.connection);
  const shares = prepareShares(database.connection, { name: "checkpoint", order: "id" }, limits);

  const read = (principal: Uint8Array, historyKey: string): Checkpoint | undefined => {
    const row = sql.findCheckpoint(principal, historyKey, now() - ttlMs);
    if (!row) return undefined;
    const stored = sql.blobsOf(row.id);
    const { conversation, state } = row;
    const blobs = new Map(stored.map(({ name, data }) => [name, data]));
    const damaged = stored.find(({ name, data, seal }) => sealBlob(name, data) !== seal);
    const seal = sealCheckpoint({ principal, history: historyKey, conversation, state }, blobs.keys());
    if (!damaged && seal === row.seal) return { conversationId: conversation, state, blobs };
    if (damaged) sql.deleteUsersOf(damaged.id);
    sql.deleteCheckpoint(row.id);
    return undefined;
  };

  const write = (principalId: string, historyKey: string, { conversationId, state, blobs }: Checkpoint): void => {
    const principal = holder(principalId);
    const owner = digest(principalId, conversationId);
    const putAt = now();
    sql.deleteUntil(putAt - ttlMs);
    shares.pullBackFuture(putAt);
    if (!shares.canHold(principal, sizeOf(state, blobs))) {
      const old = sql.findCheckpoint(principal, historyKey, Number.NEGATIVE_INFINITY);
      if (old) sql.deleteCheckpoint(old.id);
      return;
    }
    const names = JSON.stringify([...blobs.keys()]);
    for (const name of sql.missingBlobs(owner, names)) {
      const data = blobs.get(name);
      if (data) sql.insertBlob({ principal, owner, name, data, seal: sealBlob(name, data) });
    }
    const row = { principal, history: historyKey, conversation: conversationId, state };
    const id = sql.putCheckpoint({ ...row, seal: sealCheckpoint(row, blobs.keys()), putAt });
    sql.replaceRefs(id, owner, names);
    shares.makeRoom(principal);
  };

  return {
    find: (principalId, historyKey) => database.read(() => read(holder(principalId), historyKey), undefined),
    put: (principalId, historyKey, checkpoint) =>
      database.write(() => write(principalId, historyKey, checkpoint), undefined),
  };
}

const holder = (principalId: string): Uint8Array => holderOf(principalId, digest(principalId));

/** The parts told apart by their lengths: no two lists of parts give the same text. */
function digest(...parts: readonly string[]): Uint8Array {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length}:${part}`);
  return hash.digest();
}

function sizeOf(state: Uint8Array, blobs: ReadonlyMap<string, Uint8Array>): number {
  let size = state.length;
  for (const data of blobs.values()) size += data.length;
  return size;
}
