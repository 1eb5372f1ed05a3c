import type { DatabaseSync } from "node:sqlite";

interface CheckpointRow {
  readonly id: number;
  readonly conversation: string;
  readonly state: Uint8Array;
  readonly seal: number;
}

interface BlobRow {
  readonly id: number;
  readonly name: string;
  readonly data: Uint8Array;
  readonly seal: number;
}

interface NewCheckpoint {
  readonly principal: Uint8Array;
  readonly history: string;
  readonly conversation: string;
  readonly state: Uint8Array;
  readonly seal: number;
  readonly putAt: number;
}

interface NewBlob {
  readonly principal: Uint8Array;
  readonly owner: Uint8Array;
  readonly name: string;
  readonly data: Uint8Array;
  readonly seal: number;
}

/**
 * Prepares all SQL about checkpoints. Lists of names are passed as one JSON text, which is faster than a statement
 * each.
 */
export function prepareCheckpointStatements(connection: DatabaseSync) {
  const find = connection.prepare(
    "SELECT id, conversation, state, seal FROM checkpoint WHERE principal = ? AND history = ? AND put_at > ?",
  );
  const blobs = connection.prepare(
    "SELECT blob.id, name, data, seal FROM ref JOIN blob ON blob.id = ref.blob WHERE ref.checkpoint = ?",
  );
  const missing = connection.prepare(
    "SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM blob WHERE owner = ? AND name = value)",
  );
  const insertBlob = connection.prepare("INSERT INTO blob (principal, owner, name, data, seal) VALUES (?, ?, ?, ?, ?)");
  const put = connection.prepare(
    `INSERT INTO checkpoint (principal, history, conversation, state, seal, put_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (principal, history) DO UPDATE SET
       conversation = excluded.conversation, state = excluded.state, seal = excluded.seal, put_at = excluded.put_at
     RETURNING id`,
  );
  // CROSS fixes the join order. Otherwise SQLite searches the list once for each blob.
  const named = "SELECT blob.id FROM json_each(?) CROSS JOIN blob ON owner = ? AND name = value";
  const insertRefs = connection.prepare(`INSERT OR IGNORE INTO ref SELECT ?, id FROM (${named})`);
  const deleteRefs = connection.prepare(`DELETE FROM ref WHERE checkpoint = ? AND blob NOT IN (${named})`);
  const deleteOne = connection.prepare("DELETE FROM checkpoint WHERE id = ?");
  const deleteUsers = connection.prepare(
    "DELETE FROM checkpoint WHERE id IN (SELECT checkpoint FROM ref WHERE blob = ?)",
  );

  return {
    findCheckpoint: (principal: Uint8Array, history: string, after: number) =>
      find.get(principal, history, after) as CheckpointRow | undefined,
    blobsOf: (id: number) => blobs.all(id) as unknown as readonly BlobRow[],
    /** Returns the names (from a JSON array) for which the owner has no blob. */
    missingBlobs: (owner: Uint8Array, names: string) => missing.all(names, owner).map(({ value }) => String(value)),
    insertBlob: ({ principal, owner, name, data, seal }: NewBlob) =>
      void insertBlob.run(principal, owner, name, data, seal),
    putCheckpoint({ principal, history, conversation, state, seal, putAt }: NewCheckpoint): number {
      return Number(put.get(principal, history, conversation, state, seal, putAt)?.["id"]);
    },
    replaceRefs(id: number, owner: Uint8Array, names: string): void {
      insertRefs.run(id, names, owner);
      deleteRefs.run(id, names, owner);
    },
    deleteCheckpoint: (id: number) => void deleteOne.run(id),
    /** Deletes all checkpoints that need this blob. */
    deleteUsersOf: (blobId: number) => void deleteUsers.run(blobId),
  };
}
