import type { KeptSession, KeptSessions, SessionEntry } from "../core/history/kept-sessions.ts";
import { DAY_MS, MiB, openSharedTable, type StoreOptions } from "./shared-table.ts";
import type { StateDatabase } from "./state-database.ts";

export interface EditorSessionStoreOptions extends StoreOptions {
  readonly maxSessionBytes?: number;
}

const TABLE = {
  name: "editor_session",
  order: "id",
  defaults: { maxBytes: 64 * MiB, maxItems: 500, ttlMs: 30 * DAY_MS },
} as const;

/**
 * Keeps conversations of editors in the state file. If it is full, the principal that holds the most loses its oldest.
 */
export function createEditorSessionStore(
  database: StateDatabase,
  options: EditorSessionStoreOptions = {},
): KeptSessions {
  const { maxSessionBytes = 16 * MiB } = options;
  const { connection } = database;
  const insert = connection.prepare("INSERT INTO editor_session VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  const byId = connection.prepare("SELECT * FROM editor_session WHERE principal = ? AND id = ? AND put_at > ?");
  const all = connection.prepare(
    `SELECT id, folder, title, put_at FROM editor_session
     WHERE principal = ? AND put_at > ? AND (? IS NULL OR folder = ?) ORDER BY put_at DESC`,
  );
  const remove = connection.prepare("DELETE FROM editor_session WHERE principal = ? AND id = ?");
  const table = openSharedTable(database, TABLE, options);

  return {
    keep: (principalId, { id, folder, model, title, messages }) => {
      const bytes = Buffer.byteLength(messages);
      table.put({
        principalId,
        bytes,
        insert: (principal, putAt) => {
          // The old version is outdated even if the new one is too large to store.
          remove.run(principal, id);
          if (bytes <= maxSessionBytes) insert.run(principal, id, folder, model, title, messages, bytes, putAt);
        },
        refuse: (principal) => void remove.run(principal, id),
      });
    },
    find: (principalId, id) =>
      table.read(principalId, undefined, (principal, expired) => sessionOf(byId.get(principal, id, expired))),
    list: (principalId, folder) =>
      table.read(principalId, [] as SessionEntry[], (principal, expired) =>
        all.all(principal, expired, folder ?? null, folder ?? null).map(entryOf),
      ),
    forget: (principalId, id) => table.write(principalId, undefined, (principal) => void remove.run(principal, id)),
  };
}

type Row = Readonly<Record<string, unknown>>;

function sessionOf(row: Row | undefined): KeptSession | undefined {
  if (!row) return undefined;
  const text = (name: string) => String(row[name]);
  return {
    id: text("id"),
    folder: text("folder"),
    model: text("model"),
    title: text("title"),
    messages: text("messages"),
  };
}

const entryOf = (row: Row): SessionEntry => ({
  id: String(row["id"]),
  folder: String(row["folder"]),
  title: String(row["title"]),
  updatedAt: new Date(Number(row["put_at"])),
});
