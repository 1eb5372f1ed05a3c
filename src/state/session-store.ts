import { createHash } from "node:crypto";
import type { KeptSession, KeptSessions, SessionEntry } from "../core/history/kept-sessions.ts";
import { holderOf, MAX_PRINCIPALS, prepareShares } from "./shares.ts";
import type { StateDatabase } from "./state-database.ts";

export interface SessionStoreOptions {
  /** Of all conversations together, and of one. */
  readonly maxBytes?: number;
  readonly maxSessionBytes?: number;
  readonly maxSessions?: number;
  readonly maxPrincipals?: number;
  readonly ttlMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const MiB = 1024 * 1024;
const DAY_MS = 86_400_000;

/** Conversations of editors in the state file. Whoever holds the most makes room, with its oldest. */
export function createSessionStore(database: StateDatabase, options: SessionStoreOptions = {}): KeptSessions {
  const { maxBytes = 64 * MiB, maxSessionBytes = 16 * MiB, maxSessions = 500, ttlMs = 30 * DAY_MS } = options;
  const { now = Date.now } = options;
  const { connection } = database;
  const insert = connection.prepare("INSERT INTO editor_session VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  const byId = connection.prepare("SELECT * FROM editor_session WHERE principal = ? AND id = ? AND put_at > ?");
  const all = connection.prepare(
    `SELECT id, folder, title, put_at FROM editor_session
     WHERE principal = ? AND put_at > ? AND (? IS NULL OR folder = ?) ORDER BY put_at DESC`,
  );
  const remove = connection.prepare("DELETE FROM editor_session WHERE principal = ? AND id = ?");
  const deleteUntil = connection.prepare("DELETE FROM editor_session WHERE put_at <= ?");
  const limits = { maxBytes, maxItems: maxSessions, maxPrincipals: options.maxPrincipals ?? MAX_PRINCIPALS };
  const shares = prepareShares(connection, { name: "editor_session", order: "id" }, limits);

  const put = (principal: Uint8Array, { id, folder, model, title, messages }: KeptSession): void => {
    const bytes = Buffer.byteLength(messages);
    const putAt = now();
    deleteUntil.run(putAt - ttlMs);
    shares.pullBackFuture(putAt);
    // What was kept before would be another conversation by now.
    remove.run(principal, id);
    if (bytes > maxSessionBytes || !shares.canHold(principal, bytes)) return;
    insert.run(principal, id, folder, model, title, messages, bytes, putAt);
    shares.makeRoom(principal);
  };

  return {
    keep: (principalId, session) => database.write(() => put(holder(principalId), session), undefined),
    find: (principalId, id) =>
      database.read(() => sessionOf(byId.get(holder(principalId), id, now() - ttlMs)), undefined),
    list: (principalId, folder) =>
      database.read(
        () => all.all(holder(principalId), now() - ttlMs, folder ?? null, folder ?? null).map(entryOf),
        [] as SessionEntry[],
      ),
    forget: (principalId, id) => database.write(() => void remove.run(holder(principalId), id), undefined),
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

const holder = (principalId: string): Uint8Array => holderOf(principalId, digest(principalId));

const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest();
