import type { DatabaseSync } from "node:sqlite";

export interface AnswerRow {
  readonly key: number;
  readonly id: string;
  readonly asked: string;
  readonly answered: string | null;
  readonly text: string | null;
  readonly reason: string | null;
  readonly is_settled: number;
  readonly put_at: number;
}

interface RoundRow {
  readonly position: number;
  readonly body: string;
  readonly seal: number;
}

const MAX_FOUND = 8;

export function prepareHubAnswerStatements(connection: DatabaseSync) {
  const columns = "key, id, asked, answered, text, reason, is_settled, put_at";
  const byRequest = connection.prepare(
    `SELECT ${columns} FROM hub_answer WHERE principal = ? AND asked = ? AND put_at > ?
     ORDER BY put_at DESC, key DESC LIMIT ${MAX_FOUND}`,
  );
  const byHistory = connection.prepare(
    `SELECT ${columns} FROM hub_answer WHERE principal = ? AND answered IN (SELECT value FROM json_each(?)) AND put_at > ?
     ORDER BY put_at, key`,
  );
  const rounds = connection.prepare("SELECT position, body, seal FROM hub_round WHERE answer = ? ORDER BY position");
  const put = connection.prepare(
    `INSERT INTO hub_answer (principal, id, asked, put_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (principal, id) DO UPDATE SET put_at = excluded.put_at RETURNING key`,
  );
  const putRound = connection.prepare("INSERT OR REPLACE INTO hub_round VALUES (?, ?, ?, ?, ?)");
  const measure = connection.prepare(
    `UPDATE hub_answer SET bytes = length(coalesce(text, '')) +
       (SELECT coalesce(sum(bytes), 0) FROM hub_round WHERE answer = key) WHERE key = ?`,
  );
  const putEnd = connection.prepare("UPDATE hub_answer SET text = ?, reason = ?, answered = ? WHERE key = ?");
  const settle = connection.prepare("UPDATE hub_answer SET is_settled = 1 WHERE principal = ? AND id = ?");
  const remove = connection.prepare("DELETE FROM hub_answer WHERE key = ?");

  return {
    byRequest: (principal: Uint8Array, asked: string, after: number) =>
      byRequest.all(principal, asked, after) as unknown as readonly AnswerRow[],
    /** Oldest first. */
    byHistory: (principal: Uint8Array, histories: readonly string[], after: number) =>
      byHistory.all(principal, JSON.stringify(histories), after) as unknown as readonly AnswerRow[],
    roundsOf: (key: number) => rounds.all(key) as unknown as readonly RoundRow[],
    put: (principal: Uint8Array, id: string, asked: string, putAt: number): number =>
      Number(put.get(principal, id, asked, putAt)?.["key"]),
    putRound(key: number, position: number, body: string, seal: number): void {
      putRound.run(key, position, body, Buffer.byteLength(body), seal);
      measure.run(key);
    },
    putEnd(key: number, text: string, reason: string, answered: string): void {
      putEnd.run(text, reason, answered, key);
      measure.run(key);
    },
    settle: (principal: Uint8Array, id: string) => void settle.run(principal, id),
    delete: (key: number) => void remove.run(key),
  };
}
