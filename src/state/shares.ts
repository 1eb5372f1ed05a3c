import type { DatabaseSync } from "node:sqlite";
import { isGuest } from "../core/guest.ts";

/** Of the owner and the keys together. */
export interface ShareLimits {
  readonly maxBytes: number;
  readonly maxItems: number;
  /** Of callers that bring a token. */
  readonly maxPrincipals: number;
}

interface SharedTable {
  /** Its name, by which `holding` counts what is in it. */
  readonly name: "checkpoint" | "response" | "thought" | "editor_session";
  /** What tells apart rows that were put at the same time, the older one first. */
  readonly order: "id" | "key";
}

/** Callers with a token that have something in a table at the same time. */
export const MAX_PRINCIPALS = 256;

/** What callers with a token may hold together, beside what the owner and the keys may. */
export const GUEST_PART = 0.5;

const DIGEST_BYTES = 32;
const GUEST_MARK = Uint8Array.of(1);

/** What a store calls a principal: the digest, with a byte more for one that came with a token. */
export const holderOf = (principalId: string, digest: Uint8Array): Uint8Array =>
  isGuest(principalId) ? Buffer.concat([digest, GUEST_MARK]) : digest;

export const isGuestHolder = (holder: Uint8Array): boolean => holder.length > DIGEST_BYTES;

/** The same as `isGuestHolder`, in SQL. */
export const HOLDERS = {
  known: `length(principal) <= ${DIGEST_BYTES}`,
  guest: `length(principal) > ${DIGEST_BYTES}`,
} as const;

/**
 * Makes room in a table that several principals share: the principal that holds the most loses its oldest row.
 *
 * Anybody can make up tokens, and each one is another principal. So callers with a token have a room of their own: they
 * push out each other, and never the owner or a key. If there are too many of them, the one that holds least gives up
 * all it has.
 *
 * Triggers keep `holding` right, which has a row for each principal; see migrations.ts.
 */
export function prepareShares(connection: DatabaseSync, { name, order }: SharedTable, limits: ShareLimits) {
  const known = prepareRoom(connection, name, HOLDERS.known, { ...limits, maxPrincipals: Number.POSITIVE_INFINITY });
  const guests = prepareRoom(connection, name, HOLDERS.guest, {
    maxBytes: limits.maxBytes * GUEST_PART,
    maxItems: limits.maxItems * GUEST_PART,
    maxPrincipals: limits.maxPrincipals,
  });
  const roomOf = (holder: Uint8Array) => (isGuestHolder(holder) ? guests : known);
  const deleteOldest = connection.prepare(
    `DELETE FROM ${name} WHERE principal = :principal AND ${order} =
      (SELECT ${order} FROM ${name} WHERE principal = :principal ORDER BY put_at, ${order} LIMIT 1)`,
  );
  const deleteAll = connection.prepare(`DELETE FROM ${name} WHERE principal = ?`);
  const pullBack = connection.prepare(`UPDATE ${name} SET put_at = ? WHERE put_at > ?`);

  return {
    /** A clock that was ahead has left rows that would count as the newest until it gets there again. */
    pullBackFuture: (now: number) => void pullBack.run(now - 1, now),
    /** False: it would push out everything else and then itself. */
    canHold: (holder: Uint8Array, bytes: number) => bytes <= roomOf(holder).maxBytes,
    /** After something of the newcomer's was put. */
    makeRoom(newcomer: Uint8Array): void {
      const room = roomOf(newcomer);
      for (;;) {
        const used = room.used();
        const largest = room.largest(used, newcomer);
        if (largest) {
          if (deleteOldest.run({ principal: largest }).changes === 0) return;
        } else {
          const smallest = room.surplus(used, newcomer);
          if (!smallest || deleteAll.run(smallest).changes === 0) return;
        }
      }
    },
  };
}

/** Those who compete with each other for a table. */
function prepareRoom(connection: DatabaseSync, table: string, who: string, limits: ShareLimits) {
  const held = `FROM holding WHERE store = '${table}' AND ${who}`;
  const totals = connection.prepare(
    `SELECT count(*) AS principals, total(items) AS items, total(bytes) AS bytes ${held}`,
  );
  const mostBytes = connection.prepare(
    `SELECT principal ${held} ORDER BY bytes DESC, principal = ?, principal LIMIT 1`,
  );
  const mostItems = connection.prepare(
    `SELECT principal ${held} ORDER BY items DESC, principal = ?, principal LIMIT 1`,
  );
  const least = connection.prepare(
    `SELECT principal ${held} AND principal <> ? ORDER BY bytes, items, principal LIMIT 1`,
  );
  type Used = Readonly<Record<"principals" | "items" | "bytes", number>>;
  type Row = { readonly principal: Uint8Array } | undefined;
  return {
    maxBytes: limits.maxBytes,
    used: () => totals.get() as Used,
    /** Who has to give up something, if they hold too much together. The newcomer comes last of those who hold the same. */
    largest({ bytes, items }: Used, newcomer: Uint8Array): Uint8Array | undefined {
      if (bytes > limits.maxBytes) return (mostBytes.get(newcomer) as Row)?.principal;
      return items > limits.maxItems ? (mostItems.get(newcomer) as Row)?.principal : undefined;
    },
    /** Who has to give up everything, if they are too many. */
    surplus: ({ principals }: Used, newcomer: Uint8Array) =>
      principals > limits.maxPrincipals ? (least.get(newcomer) as Row)?.principal : undefined,
  };
}

/** What `holding` should have. */
const EXPECTED = `
  SELECT 'checkpoint' AS store, principal, sum(items) AS items, sum(bytes) AS bytes FROM (
    SELECT principal, 1 AS items, length(state) AS bytes FROM checkpoint
    UNION ALL SELECT principal, 0, length(data) FROM blob
  ) GROUP BY principal
  UNION ALL SELECT 'response', principal, count(*), sum(bytes) FROM response GROUP BY principal
  UNION ALL SELECT 'thought', principal, count(*), sum(bytes) FROM thought GROUP BY principal
  UNION ALL SELECT 'editor_session', principal, count(*), sum(bytes) FROM editor_session GROUP BY principal`;

/** Counts anew if the counts are wrong, which only a damaged file can bring about. */
export function checkShares(connection: DatabaseSync): void {
  const check = connection.prepare(
    `WITH expected AS (${EXPECTED}) SELECT NOT EXISTS (SELECT * FROM expected EXCEPT SELECT * FROM holding)
      AND NOT EXISTS (SELECT * FROM holding EXCEPT SELECT * FROM expected) AS is_right`,
  );
  if (check.get()?.["is_right"] === 1) return;
  connection.exec(`BEGIN IMMEDIATE; DELETE FROM holding; INSERT INTO holding ${EXPECTED}; COMMIT`);
}
