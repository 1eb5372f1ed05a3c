import { createHash } from "node:crypto";
import type { Thought, Thoughts } from "../core/thoughts.ts";
import type { StateDatabase } from "./state-database.ts";

export interface ThoughtStoreOptions {
  /** Texts and signatures, of all principals. */
  readonly maxBytes?: number;
  readonly maxThoughts?: number;
  readonly ttlMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const MiB = 1024 * 1024;
const DAY_MS = 86_400_000;

/** Thinking in the state file, the oldest making room. */
export function createThoughtStore(database: StateDatabase, options: ThoughtStoreOptions = {}): Thoughts {
  const { maxBytes = 64 * MiB, maxThoughts = 20_000, ttlMs = 30 * DAY_MS, now = Date.now } = options;
  const { connection } = database;
  const insert = connection.prepare("INSERT OR REPLACE INTO thought VALUES (?, ?, ?, ?, ?, ?, ?)");
  const byId = connection.prepare("SELECT text, signature FROM thought WHERE principal = ? AND id = ? AND put_at > ?");
  const byText = connection.prepare(
    "SELECT text, signature FROM thought WHERE principal = ? AND digest = ? AND put_at > ? ORDER BY put_at DESC LIMIT 1",
  );
  const deleteUntil = connection.prepare("DELETE FROM thought WHERE put_at <= ?");
  const deleteOldest = connection.prepare(
    "DELETE FROM thought WHERE (principal, id) = (SELECT principal, id FROM thought ORDER BY put_at LIMIT 1)",
  );
  const usage = connection.prepare("SELECT count(*) AS count, total(bytes) AS bytes FROM thought");

  const put = (principal: Uint8Array, id: string, { text, signature }: Thought): void => {
    const bytes = Buffer.byteLength(text) + (signature?.length ?? 0);
    deleteUntil.run(now() - ttlMs);
    // It would push out everything else and then itself.
    if (bytes > maxBytes) return;
    insert.run(principal, id, digest(text), text, signature ?? null, bytes, now());
    for (;;) {
      const used = usage.get() as { readonly count: number; readonly bytes: number };
      if (used.bytes <= maxBytes && used.count <= maxThoughts) return;
      deleteOldest.run();
    }
  };

  return {
    keep: (principalId, id, thought) => database.write(() => put(digest(principalId), id, thought), undefined),
    find: (principalId, id) =>
      database.read(() => thoughtOf(byId.get(digest(principalId), id, now() - ttlMs)), undefined),
    findByText: (principalId, text) =>
      database.read(() => thoughtOf(byText.get(digest(principalId), digest(text), now() - ttlMs)), undefined),
  };
}

function thoughtOf(row: Readonly<Record<string, unknown>> | undefined): Thought | undefined {
  if (!row) return undefined;
  return { text: String(row["text"]), signature: row["signature"] === null ? undefined : String(row["signature"]) };
}

const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest();
