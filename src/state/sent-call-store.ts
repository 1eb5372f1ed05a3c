import type { SentCalls } from "../core/history/sent-calls.ts";
import { DAY_MS, MiB, openSharedTable, type StoreOptions } from "./shared-table.ts";
import type { StateDatabase } from "./state-database.ts";

const TABLE = {
  name: "sent_call",
  order: "id",
  defaults: { maxBytes: 32 * MiB, maxItems: 100_000, ttlMs: 30 * DAY_MS },
} as const;

/** Keeps what is known of tool calls in the state file. If it is full, the principal that holds the most loses its oldest. */
export function createSentCallStore(database: StateDatabase, options: StoreOptions = {}): SentCalls {
  const { connection } = database;
  const find = connection.prepare(
    `SELECT id, sent, reduced, returned FROM sent_call
     WHERE principal = ? AND put_at > ? AND id IN (SELECT value FROM json_each(?))`,
  );
  const insert = connection.prepare(
    `INSERT INTO sent_call VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (principal, id) DO UPDATE SET sent = excluded.sent, reduced = excluded.reduced,
       returned = excluded.returned, bytes = excluded.bytes, put_at = excluded.put_at`,
  );
  const table = openSharedTable(database, TABLE, options);

  return {
    find: (principalId, callIds) =>
      table.read(principalId, new Map(), (principal, expired) => {
        const rows = find.all(principal, expired, JSON.stringify(callIds)) as unknown as readonly Row[];
        return new Map(rows.map(({ id, ...call }) => [id, { ...call }]));
      }),
    keep: (principalId, callId, { sent, reduced, returned }) => {
      const bytes = callId.length + sent.length + reduced.length + returned.length;
      table.put({
        principalId,
        bytes,
        insert: (principal, putAt) => void insert.run(principal, callId, sent, reduced, returned, bytes, putAt),
      });
    },
  };
}

type Row = Readonly<Record<"id" | "sent" | "reduced" | "returned", string>>;
