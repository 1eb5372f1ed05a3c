import type { AtOnce } from "../core/awaitable.ts";
import type { Checkpoint, CheckpointStore } from "../core/history/checkpoints.ts";
import { prepareCheckpointStatements } from "./checkpoint-statements.ts";
import { sealBlob, sealCheckpoint } from "./seal.ts";
import { DAY_MS, digest, MiB, openSharedTable, type StoreOptions } from "./shared-table.ts";
import type { StateDatabase } from "./state-database.ts";

const TABLE = {
  name: "checkpoint",
  order: "id",
  defaults: { maxBytes: 256 * MiB, maxItems: 10_000, ttlMs: 30 * DAY_MS },
} as const;

/**
 * Keeps checkpoints in the state file. If it is full, the principal that holds the most loses its oldest. A blob is
 * stored once per conversation of a principal; conversations share no blobs.
 */
export function createCheckpointStore(database: StateDatabase, options: StoreOptions = {}): AtOnce<CheckpointStore> {
  const sql = prepareCheckpointStatements(database.connection);
  const table = openSharedTable(database, TABLE, options);

  const read = (principal: Uint8Array, historyKey: string, expired: number): Checkpoint | undefined => {
    const row = sql.findCheckpoint(principal, historyKey, expired);
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

  const forget = (principal: Uint8Array, historyKey: string): void => {
    const old = sql.findCheckpoint(principal, historyKey, Number.NEGATIVE_INFINITY);
    if (old) sql.deleteCheckpoint(old.id);
  };

  return {
    find: (principalId, historyKey) =>
      table.read(principalId, undefined, (principal, expired) => read(principal, historyKey, expired)),
    put: (principalId, historyKey, { conversationId, state, blobs }) =>
      table.put({
        principalId,
        bytes: sizeOf(state, blobs),
        insert: (principal, putAt) => {
          // The length makes the text unique: ("ab", "c") and ("a", "bc") must not give the same.
          const owner = digest(`${principalId.length}:${principalId}${conversationId}`);
          const names = JSON.stringify([...blobs.keys()]);
          for (const name of sql.missingBlobs(owner, names)) {
            const data = blobs.get(name);
            if (data) sql.insertBlob({ principal, owner, name, data, seal: sealBlob(name, data) });
          }
          const row = { principal, history: historyKey, conversation: conversationId, state };
          const id = sql.putCheckpoint({ ...row, seal: sealCheckpoint(row, blobs.keys()), putAt });
          sql.replaceRefs(id, owner, names);
        },
        refuse: (principal) => forget(principal, historyKey),
      }),
    forget: (principalId, historyKey) =>
      table.write(principalId, undefined, (principal) => forget(principal, historyKey)),
  };
}

function sizeOf(state: Uint8Array, blobs: ReadonlyMap<string, Uint8Array>): number {
  let size = state.length;
  for (const data of blobs.values()) size += data.length;
  return size;
}
