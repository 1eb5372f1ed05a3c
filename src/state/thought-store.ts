import type { Thought, Thoughts } from "../core/thinking/thoughts.ts";
import { DAY_MS, digest, MiB, openSharedTable, type StoreOptions } from "./shared-table.ts";
import type { StateDatabase } from "./state-database.ts";

const TABLE = {
  name: "thought",
  order: "id",
  defaults: { maxBytes: 64 * MiB, maxItems: 20_000, ttlMs: 30 * DAY_MS },
} as const;

/** Keeps thinking in the state file. If it is full, the principal that holds the most loses its oldest. */
export function createThoughtStore(database: StateDatabase, options: StoreOptions = {}): Thoughts {
  const { connection } = database;
  const insert = connection.prepare("INSERT INTO thought VALUES (?, ?, ?, ?, ?, ?, ?)");
  // INSERT OR REPLACE would not fire the delete trigger.
  const remove = connection.prepare("DELETE FROM thought WHERE principal = ? AND id = ?");
  const byId = connection.prepare("SELECT text, signature FROM thought WHERE principal = ? AND id = ? AND put_at > ?");
  const byText = connection.prepare(
    "SELECT text, signature FROM thought WHERE principal = ? AND digest = ? AND put_at > ? ORDER BY put_at DESC LIMIT 1",
  );
  const table = openSharedTable(database, TABLE, options);

  return {
    keep: (principalId, id, { text, signature }) => {
      const bytes = Buffer.byteLength(text) + (signature?.length ?? 0);
      table.put({
        principalId,
        bytes,
        insert: (principal, putAt) => {
          remove.run(principal, id);
          insert.run(principal, id, digest(text), text, signature ?? null, bytes, putAt);
        },
      });
    },
    find: (principalId, id) =>
      table.read(principalId, undefined, (principal, expired) => thoughtOf(byId.get(principal, id, expired))),
    findByText: (principalId, text) =>
      table.read(principalId, undefined, (principal, expired) =>
        thoughtOf(byText.get(principal, digest(text), expired)),
      ),
  };
}

function thoughtOf(row: Readonly<Record<string, unknown>> | undefined): Thought | undefined {
  if (!row) return undefined;
  return { text: String(row["text"]), signature: row["signature"] === null ? undefined : String(row["signature"]) };
}
