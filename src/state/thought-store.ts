import { createHash } from "node:crypto";
import type { Thought, Thoughts } from "../core/thinking/thoughts.ts";
import { holderOf, MAX_PRINCIPALS, prepareShares } from "./shares.ts";
import type { StateDatabase } from "./state-database.ts";

export interface ThoughtStoreOptions {
  /** Texts and signatures, of all principals; see `ShareLimits`. */
  readonly maxBytes?: number;
  readonly maxThoughts?: number;
  readonly maxPrincipals?: number;
  readonly ttlMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const MiB = 1024 * 1024;
const DAY_MS = 86_400_000;

/** Thinking in the state file. Whoever holds the most makes room, with its oldest. */
export function createThoughtStore(database: StateDatabase, options: ThoughtStoreOptions = {}): Thoughts {
  const { maxBytes = 64 * MiB, maxThoughts = 20_000, ttlMs = 30 * DAY_MS, now = Date.now } = options;
  const { connection } = database;
  const insert = connection.prepare("INSERT INTO thought VALUES (?, ?, ?, ?, ?, ?, ?)");
  // A row that an insert replaces would go without a trigger.
  const remove = connection.prepare("DELETE FROM thought WHERE principal = ? AND id = ?");
  const byId = connection.prepare("SELECT text, signature FROM thought WHERE principal = ? AND id = ? AND put_at > ?");
  const byText = connection.prepare(
    "SELECT text, signature FROM thought WHERE principal = ? AND digest = ? AND put_at > ? ORDER BY put_at DESC LIMIT 1",
  );
  const deleteUntil = connection.prepare("DELETE FROM thought WHERE put_at <= ?");
  const limits = { maxBytes, maxItems: maxThoughts, maxPrincipals: options.maxPrincipals ?? MAX_PRINCIPALS };
  const shares = prepareShares(connection, { name: "thought", order: "id" }, limits);

  const put = (principal: Uint8Array, id: string, { text, signature }: Thought): void => {
    const bytes = Buffer.byteLength(text) + (signature?.length ?? 0);
    const putAt = now();
    deleteUntil.run(putAt - ttlMs);
    shares.pullBackFuture(putAt);
    if (!shares.canHold(principal, bytes)) return;
    remove.run(principal, id);
    insert.run(principal, id, digest(text), text, signature ?? null, bytes, putAt);
    shares.makeRoom(principal);
  };

  return {
    keep: (principalId, id, thought) => database.write(() => put(holder(principalId), id, thought), undefined),
    find: (principalId, id) =>
      database.read(() => thoughtOf(byId.get(holder(principalId), id, now() - ttlMs)), undefined),
    findByText: (principalId, text) =>
      database.read(() => thoughtOf(byText.get(holder(principalId), digest(text), now() - ttlMs)), undefined),
  };
}

function thoughtOf(row: Readonly<Record<string, unknown>> | undefined): Thought | undefined {
  if (!row) return undefined;
  return { text: String(row["text"]), signature: row["signature"] === null ? undefined : String(row["signature"]) };
}

const holder = (principalId: string): Uint8Array => holderOf(principalId, digest(principalId));

const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest();
