import type { DatabaseSync } from "node:sqlite";

export interface ShareLimits {
  /** Of all principals together. */
  readonly maxBytes: number;
  readonly maxItems: number;
  readonly maxPrincipals: number;
}

interface SharedTable {
  /** Its name, by which `holding` counts what is in it. */
  readonly name: "checkpoint" | "response" | "thought" | "editor_session";
  /** What tells apart rows that were put at the same time, the older one first. */
  readonly order: "id" | "key";
}

/** Each of them has at least this part of a table that is full. */
export const MAX_PRINCIPALS = 256;

/**
 * Makes room in a table that several principals share: whoever holds the most gives up its oldest, so that nobody pushes
 * out what another has kept. If there are too many principals, the one that holds least gives up all it has.
 *
 * Triggers keep `holding` right, which has a row for each principal; see migrations.ts.
 */
export function prepareShares(connection: DatabaseSync, { name, order }: SharedTable) {
  const held = `FROM holding WHERE store = '${name}'`;
  const totals = connection.prepare(
    `SELECT count(*) AS principals, total(items) AS items, total(bytes) AS bytes ${held}`,
  );
  const mostBytes = connection.prepare(`SELECT principal ${held} ORDER BY bytes DESC, principal LIMIT 1`);
  const mostItems = connection.prepare(`SELECT principal ${held} ORDER BY items DESC, principal LIMIT 1`);
  const least = connection.prepare(
    `SELECT principal ${held} AND principal <> ? ORDER BY bytes, items, principal LIMIT 1`,
  );
  const deleteOldest = connection.prepare(
    `DELETE FROM ${name} WHERE principal = :principal AND ${order} =
      (SELECT ${order} FROM ${name} WHERE principal = :principal ORDER BY put_at, ${order} LIMIT 1)`,
  );
  const deleteAll = connection.prepare(`DELETE FROM ${name} WHERE principal = ?`);
  const pullBack = connection.prepare(`UPDATE ${name} SET put_at = ? WHERE put_at > ?`);
  const nextVictim = (
    { maxBytes, maxItems }: ShareLimits,
    used: { readonly bytes: number; readonly items: number },
  ) => {
    if (used.bytes > maxBytes) return mostBytes.get();
    return used.items > maxItems ? mostItems.get() : undefined;
  };

  return {
    /** A clock that was ahead has left rows that would count as the newest until it gets there again. */
    pullBackFuture: (now: number) => void pullBack.run(now - 1, now),
    /** After something of the newcomer's was put. */
    makeRoom(newcomer: Uint8Array, limits: ShareLimits): void {
      for (;;) {
        const used = totals.get() as Record<"principals" | "items" | "bytes", number>;
        const victim = nextVictim(limits, used);
        if (victim) {
          if (deleteOldest.run({ principal: victim["principal"] as Uint8Array }).changes === 0) return;
        } else {
          if (used.principals <= limits.maxPrincipals) return;
          const smallest = least.get(newcomer)?.["principal"];
          if (!smallest || deleteAll.run(smallest as Uint8Array).changes === 0) return;
        }
      }
    },
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
