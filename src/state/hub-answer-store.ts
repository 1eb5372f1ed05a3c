import type { AtOnce } from "../core/awaitable.ts";
import type { DoneReason } from "../core/events.ts";
import type { AnswerPlace, HubAnswers, KeptAnswer } from "../core/hub/hub-answers.ts";
import { formatRound, MAX_RESULT_BYTES, parseRound } from "../core/hub/round-json.ts";
import { type AnswerRow, prepareHubAnswerStatements } from "./hub-answer-statements.ts";
import { sealRound } from "./seal.ts";
import { DAY_MS, MiB, openSharedTable, type StoreOptions } from "./shared-table.ts";
import type { StateDatabase } from "./state-database.ts";

export interface HubAnswerStoreOptions extends StoreOptions {
  /** Largest result that is stored. A larger one is replaced by a note that the call was made. */
  readonly maxResultBytes?: number;
}

const TABLE = {
  name: "hub_answer",
  order: "key",
  defaults: { maxBytes: 128 * MiB, maxItems: 5000, ttlMs: 7 * DAY_MS },
} as const;

/** Keeps answers of the hub in the state file. If it is full, the principal that holds the most loses its oldest. */
export function createHubAnswerStore(database: StateDatabase, options: HubAnswerStoreOptions = {}): AtOnce<HubAnswers> {
  const { maxResultBytes = MAX_RESULT_BYTES } = options;
  const sql = prepareHubAnswerStatements(database.connection);
  const table = openSharedTable(database, TABLE, options);

  const read = (principal: Uint8Array, row: AnswerRow): KeptAnswer | undefined => {
    const rows = sql.roundsOf(row.key);
    const isSound = rows.every(
      ({ position, body, seal }, at) => position === at && sealRound(principal, row.id, at, body) === seal,
    );
    if (!isSound) {
      sql.delete(row.key);
      return undefined;
    }
    return {
      id: row.id,
      askedKey: row.asked,
      rounds: rows.map(({ body }) => parseRound(body)),
      end: row.reason === null ? undefined : { text: row.text ?? "", reason: row.reason as DoneReason },
      isSettled: row.is_settled === 1,
      ageMs: Math.max(0, table.now() - row.put_at),
    };
  };

  const put = (
    { principalId, id, askedKey }: AnswerPlace,
    bytes: number,
    write: (key: number, principal: Uint8Array) => void,
  ) =>
    table.put({
      principalId,
      bytes,
      insert: (principal, putAt) => write(sql.put(principal, id, askedKey, putAt), principal),
    });

  const putRound: HubAnswers["putRound"] = (place, position, round) => {
    const body = formatRound(round, maxResultBytes);
    put(place, body.length, (key, principal) =>
      sql.putRound(key, position, body, sealRound(principal, place.id, position, body)),
    );
  };

  return {
    findAsked: (principalId, askedKey) =>
      table.read(principalId, [] as KeptAnswer[], (principal, expired) =>
        sql.byRequest(principal, askedKey, expired).flatMap((row) => read(principal, row) ?? []),
      ),
    findAnswered: (principalId, historyKeys) =>
      table.read(principalId, new Map<string, KeptAnswer>(), (principal, expired) => {
        const found = sql.byHistory(principal, historyKeys, expired).flatMap((row) => {
          const kept = read(principal, row);
          return kept && row.answered !== null ? [[row.answered, kept] as const] : [];
        });
        return new Map(found);
      }),
    beginRound(place, position, round) {
      putRound(place, position, round);
      return true;
    },
    putRound,
    putEnd: (place, { text, reason }, historyKey) =>
      put(place, text.length, (key) => sql.putEnd(key, text, reason, historyKey)),
    settle: ({ principalId, id }) => table.write(principalId, undefined, (principal) => sql.settle(principal, id)),
    leave: () => {},
  };
}
