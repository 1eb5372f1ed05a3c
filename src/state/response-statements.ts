import type { DatabaseSync } from "node:sqlite";

interface ResponseRow {
  readonly key: number;
  readonly previous: string | null;
  readonly body: string;
}

interface ItemRow {
  readonly id: string;
  readonly is_output: number;
  readonly item: string;
}

interface NewResponse {
  readonly principal: Uint8Array;
  readonly id: string;
  readonly previous: string | null;
  readonly body: string;
  readonly bytes: number;
  readonly putAt: number;
}

/** The longest chain of responses that is followed. A longer one is probably a cycle. */
const MAX_CONVERSATION = 10_000;

export function prepareResponseStatements(connection: DatabaseSync) {
  // The chain from a response back to the first one of its conversation.
  const chain = `WITH RECURSIVE chain (key, previous, step) AS (
      SELECT key, previous, 0 FROM response WHERE principal = :principal AND id = :id AND put_at > :after
      UNION ALL
      SELECT response.key, response.previous, step + 1 FROM chain JOIN response
        ON principal = :principal AND id = chain.previous AND put_at > :after WHERE step < ${MAX_CONVERSATION}
    )`;
  const conversation = connection.prepare(`${chain} SELECT key, previous FROM chain ORDER BY step DESC`);
  const touch = connection.prepare(`${chain} UPDATE response SET put_at = :now WHERE key IN (SELECT key FROM chain)`);
  const find = connection.prepare(
    "SELECT key, previous, body FROM response WHERE principal = ? AND id = ? AND put_at > ?",
  );
  const items = connection.prepare(
    "SELECT id, is_output, item FROM response_item WHERE response = ? ORDER BY position",
  );
  const findItem = connection.prepare(
    `SELECT item FROM response_item JOIN response ON response.key = response_item.response
      WHERE response_item.id = ? AND principal = ? AND put_at > ? ORDER BY response.key DESC LIMIT 1`,
  );
  const insert = connection.prepare(
    "INSERT INTO response (principal, id, previous, body, bytes, put_at) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const insertItem = connection.prepare("INSERT INTO response_item VALUES (?, ?, ?, ?, ?)");
  const deleteOne = connection.prepare("DELETE FROM response WHERE principal = ? AND id = ?");

  return {
    /** Returns the responses of a conversation, first to last; undefined if one of them is missing. */
    conversation(principal: Uint8Array, id: string, after: number): readonly number[] | undefined {
      const rows = conversation.all({ principal, id, after });
      const isWhole = rows.length > 0 && rows[0]?.["previous"] === null;
      return isWhole ? rows.map(({ key }) => Number(key)) : undefined;
    },
    touchConversation: (principal: Uint8Array, id: string, now: number) =>
      void touch.run({ principal, id, after: Number.MIN_SAFE_INTEGER, now }),
    find: (principal: Uint8Array, id: string, after: number) =>
      find.get(principal, id, after) as ResponseRow | undefined,
    itemsOf: (key: number) => items.all(key) as unknown as readonly ItemRow[],
    findItem: (principal: Uint8Array, itemId: string, after: number) =>
      findItem.get(itemId, principal, after)?.["item"] as string | undefined,
    insert: ({ principal, id, previous, body, bytes, putAt }: NewResponse): number =>
      Number(insert.run(principal, id, previous, body, bytes, putAt).lastInsertRowid),
    insertItem: (key: number, position: number, isOutput: boolean, id: string, item: string) =>
      void insertItem.run(key, position, isOutput ? 1 : 0, id, item),
    /** Returns false if there was none. */
    delete: (principal: Uint8Array, id: string): boolean => deleteOne.run(principal, id).changes > 0,
  };
}
