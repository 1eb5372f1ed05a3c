import type { DatabaseSync } from "node:sqlite";

type Row = Readonly<Record<string, unknown>>;

/** What the usage record has of one request, without its principal. */
export interface RequestRows {
  readonly requests: readonly Row[];
  readonly runs: readonly Row[];
  readonly toolCalls: readonly Row[];
}

const MAX_ROWS = 1000;

export function requestRows(connection: DatabaseSync, requestId: string): RequestRows {
  const all = (sql: string, ...values: readonly string[]): readonly Row[] =>
    connection
      .prepare(`${sql} LIMIT ${MAX_ROWS}`)
      .all(...values)
      .map(({ principal: _, scope: __, ...row }) => row);
  return {
    requests: all("SELECT * FROM request WHERE id = ?", requestId),
    runs: all("SELECT * FROM run WHERE instr(',' || requests || ',', ',' || ? || ',') > 0", requestId),
    toolCalls: all("SELECT * FROM tool_call WHERE request_id = ?", requestId),
  };
}
