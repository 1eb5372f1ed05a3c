import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { isGuest } from "../core/access/guest.ts";
import type { StateDatabase } from "./state-database.ts";

/** Limits of a store; each store has its own defaults. */
export interface StoreOptions {
  /** Bytes of the owner and all keys together. Callers with a token have half as much of their own. */
  readonly maxBytes?: number;
  /** Rows, shared in the same way. */
  readonly maxItems?: number;
  /** Callers with a token that may have rows at the same time. */
  readonly maxPrincipals?: number;
  readonly ttlMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

type StoreLimits = Readonly<Record<"maxBytes" | "maxItems" | "maxPrincipals", number>>;

interface TableShape {
  /** The table's name, under which `holding` counts its rows. */
  readonly name: "checkpoint" | "response" | "thought" | "sent_call" | "editor_session" | "hub_answer";
  /** The column that orders rows put at the same time, the older one first. */
  readonly order: "id" | "key";
  readonly defaults: Readonly<Required<Pick<StoreOptions, "maxBytes" | "maxItems" | "ttlMs">>>;
}

const MAX_PRINCIPALS = 256;

export const MiB = 1024 * 1024;
export const DAY_MS = 86_400_000;

/** The part of the limits that callers with a token have for themselves. */
const GUEST_PART = 0.5;

const DIGEST_BYTES = 32;
const GUEST_MARK = Uint8Array.of(1);

export const digest = (text: string): Uint8Array => createHash("sha256").update(text).digest();

/** Returns what a table calls a principal: a digest, and one byte more for a caller with a token. */
function holderOf(principalId: string): Uint8Array {
  const own = digest(principalId);
  return isGuest(principalId) ? Buffer.concat([own, GUEST_MARK]) : own;
}

const isGuestHolder = (holder: Uint8Array): boolean => holder.length > DIGEST_BYTES;

/** The same as `isGuestHolder`, in SQL. */
const KNOWN = `length(principal) <= ${DIGEST_BYTES}`;
const GUEST = `length(principal) > ${DIGEST_BYTES}`;

/** A table whose rows belong to principals: what every store needs beside its own SQL. */
export interface SharedTable {
  /** Reads rows of a principal; rows with `put_at` up to `expired` do not count. Returns the fallback on failure. */
  read<T>(principalId: string, fallback: T, work: (principal: Uint8Array, expired: number) => T): T;
  write<T>(principalId: string, fallback: T, work: (principal: Uint8Array) => T): T;
  /**
   * Puts a row of this size: deletes expired rows first, and makes room afterwards. A row that fits nowhere is refused
   * by `refuse`.
   */
  put(row: {
    readonly principalId: string;
    readonly bytes: number;
    readonly insert: (principal: Uint8Array, putAt: number) => void;
    readonly refuse?: (principal: Uint8Array) => void;
  }): void;
  readonly now: () => number;
}

export function openSharedTable(database: StateDatabase, shape: TableShape, options: StoreOptions): SharedTable {
  const { name, defaults } = shape;
  const { ttlMs = defaults.ttlMs, now = Date.now } = options;
  const { maxBytes = defaults.maxBytes, maxItems = defaults.maxItems, maxPrincipals = MAX_PRINCIPALS } = options;
  const shares = prepareShares(database.connection, shape, { maxBytes, maxItems, maxPrincipals });
  const deleteUntil = database.connection.prepare(`DELETE FROM ${name} WHERE put_at <= ?`);
  const pullBack = database.connection.prepare(`UPDATE ${name} SET put_at = ? WHERE put_at > ?`);
  return {
    now,
    read: (principalId, fallback, work) => database.read(() => work(holderOf(principalId), now() - ttlMs), fallback),
    write: (principalId, fallback, work) => database.write(() => work(holderOf(principalId)), fallback),
    put: ({ principalId, bytes, insert, refuse }) =>
      database.write(() => {
        const principal = holderOf(principalId);
        const putAt = now();
        deleteUntil.run(putAt - ttlMs);
        // If the clock was ahead, its rows would count as the newest until the clock gets there again.
        pullBack.run(putAt - 1, putAt);
        if (!shares.canHold(principal, bytes)) {
          refuse?.(principal);
          return;
        }
        insert(principal, putAt);
        shares.makeRoom(principal);
      }, undefined),
  };
}

/**
 * Makes room in a table that several principals share: the principal that holds the most loses its oldest row.
 *
 * Anybody can make up tokens, and each token is another principal. So callers with a token have a room of their own: they
 * push out each other, and never the owner or a key. If there are too many of them, the one that holds least loses all
 * its rows.
 *
 * `holding` has a row for each principal; triggers keep it up to date, see schema.ts.
 */
function prepareShares(connection: DatabaseSync, { name, order }: TableShape, limits: StoreLimits) {
  const known = prepareRoom(connection, name, KNOWN, { ...limits, maxPrincipals: Number.POSITIVE_INFINITY });
  const guests = prepareRoom(connection, name, GUEST, {
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

  return {
    /** False if the row would push out everything else and then itself. */
    canHold: (holder: Uint8Array, bytes: number) => bytes <= roomOf(holder).maxBytes,
    /** To be called after the principal `latest` has put a row. */
    makeRoom(latest: Uint8Array): void {
      const room = roomOf(latest);
      for (;;) {
        const used = room.used();
        const largest = room.largest(used, latest);
        if (largest) {
          if (deleteOldest.run({ principal: largest }).changes === 0) return;
        } else {
          const smallest = room.surplus(used, latest);
          if (!smallest || deleteAll.run(smallest).changes === 0) return;
        }
      }
    },
  };
}

/** The principals that compete with each other for a table. */
function prepareRoom(connection: DatabaseSync, table: string, who: string, limits: StoreLimits) {
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
    /** Returns the principal that has to lose a row, if all together hold too much. Among equals `latest` comes last. */
    largest({ bytes, items }: Used, latest: Uint8Array): Uint8Array | undefined {
      if (bytes > limits.maxBytes) return (mostBytes.get(latest) as Row)?.principal;
      return items > limits.maxItems ? (mostItems.get(latest) as Row)?.principal : undefined;
    },
    /** Returns the principal that has to lose all rows, if there are too many principals. */
    surplus: ({ principals }: Used, latest: Uint8Array) =>
      principals > limits.maxPrincipals ? (least.get(latest) as Row)?.principal : undefined,
  };
}

const EXPECTED = `
  SELECT 'checkpoint' AS store, principal, sum(items) AS items, sum(bytes) AS bytes FROM (
    SELECT principal, 1 AS items, length(state) AS bytes FROM checkpoint
    UNION ALL SELECT principal, 0, length(data) FROM blob
  ) GROUP BY principal
  UNION ALL SELECT 'response', principal, count(*), sum(bytes) FROM response GROUP BY principal
  UNION ALL SELECT 'thought', principal, count(*), sum(bytes) FROM thought GROUP BY principal
  UNION ALL SELECT 'sent_call', principal, count(*), sum(bytes) FROM sent_call GROUP BY principal
  UNION ALL SELECT 'editor_session', principal, count(*), sum(bytes) FROM editor_session GROUP BY principal
  UNION ALL SELECT 'hub_answer', principal, count(*), sum(bytes) FROM hub_answer GROUP BY principal`;

/** Recounts `holding` if its counts are wrong, which only a damaged file can cause. */
export function checkShares(connection: DatabaseSync): void {
  const check = connection.prepare(
    `WITH expected AS (${EXPECTED}) SELECT NOT EXISTS (SELECT * FROM expected EXCEPT SELECT * FROM holding)
      AND NOT EXISTS (SELECT * FROM holding EXCEPT SELECT * FROM expected) AS is_right`,
  );
  if (check.get()?.["is_right"] === 1) return;
  connection.exec(`BEGIN IMMEDIATE; DELETE FROM holding; INSERT INTO holding ${EXPECTED}; COMMIT`);
}
