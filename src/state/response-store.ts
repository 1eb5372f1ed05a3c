import type { AtOnce } from "../core/awaitable.ts";
import type { ResponseStore, StoredResponse } from "../core/history/stored-responses.ts";
import { prepareResponseStatements } from "./response-statements.ts";
import { DAY_MS, MiB, openSharedTable, type StoreOptions } from "./shared-table.ts";
import type { StateDatabase } from "./state-database.ts";

const TABLE = {
  name: "response",
  order: "key",
  defaults: { maxBytes: 128 * MiB, maxItems: 5000, ttlMs: 30 * DAY_MS },
} as const;

/** Keeps responses in the state file. If it is full, the principal that holds the most loses its oldest. */
export function createResponseStore(database: StateDatabase, options: StoreOptions = {}): AtOnce<ResponseStore> {
  const sql = prepareResponseStatements(database.connection);
  const table = openSharedTable(database, TABLE, options);

  const find = (principal: Uint8Array, id: string, expired: number): StoredResponse | undefined => {
    const row = sql.find(principal, id, expired);
    if (!row) return undefined;
    const items = sql.itemsOf(row.key);
    const those = (isOutput: number) =>
      items.flatMap((item) => (item.is_output === isOutput ? [{ id: item.id, json: item.item }] : []));
    return { id, previousId: row.previous ?? undefined, body: row.body, input: those(0), output: those(1) };
  };

  return {
    put: (principalId, { id, previousId, body, input, output }) => {
      const bytes = [...input, ...output].reduce((sum, { json }) => sum + json.length, body.length);
      table.put({
        principalId,
        bytes,
        insert: (principal, putAt) => {
          const key = sql.insert({ principal, id, previous: previousId ?? null, body, bytes, putAt });
          [...input, ...output].forEach((item, position) => {
            sql.insertItem(key, position, position >= input.length, item.id, item.json);
          });
          // Keeps the whole conversation alive: its end is useless without its beginning.
          if (previousId !== undefined) sql.touchConversation(principal, previousId, putAt);
        },
      });
    },
    find: (principalId, id) => table.read(principalId, undefined, (principal, expired) => find(principal, id, expired)),
    conversation: (principalId, id) =>
      table.read(principalId, undefined, (principal, expired) => {
        const keys = sql.conversation(principal, id, expired);
        return keys?.flatMap((key) => sql.itemsOf(key).map(({ item }) => item));
      }),
    findItem: (principalId, itemId) =>
      table.read(principalId, undefined, (principal, expired) => sql.findItem(principal, itemId, expired)),
    delete: (principalId, id) => table.write(principalId, false, (principal) => sql.delete(principal, id)),
  };
}
