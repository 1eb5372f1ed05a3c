import type { DatabaseSync } from "node:sqlite";
import { KEYS_PER_MS } from "../store/row-values.ts";

/** Times are rounded, and the keys of rows are moved on where a millisecond has many. */
const SLACK_MS = 3;

/** What Cursor has billed for a conversation, in millionths of a US dollar. */
export interface ConversationCharges {
  /** What the tokens cost by Cursor, whether the plan includes them or not. */
  readonly costMicros: number;
  /** What is charged beyond the plan. */
  readonly chargedMicros: number;
}

/**
 * Prepares the query of what Cursor has billed for one conversation, by our id of it; null if nothing is known. It reads
 * only the requests and charges of that conversation, and the runs that began during these requests. An id of Cursor's that
 * runs of several conversations have belongs to the first of them by name, as in `reportCharges`.
 */
export function chargesByConversation(connection: DatabaseSync): (id: string) => ConversationCharges | null {
  const sums = connection.prepare(
    `SELECT count(*) AS calls, total(cost_micros) AS costMicros, total(charged_micros) AS chargedMicros FROM charge
      WHERE conversation IN (SELECT upstream_conversation FROM request CROSS JOIN run AS own
        ON own.at >= request.at - request.at % ${KEYS_PER_MS} AND own.at < request.at + (request.ms + ${SLACK_MS}) * ${KEYS_PER_MS}
        WHERE request.conversation = ?1 AND own.conversation = ?1 AND upstream_conversation IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM run
            WHERE upstream_conversation = own.upstream_conversation AND conversation < own.conversation))`,
  );
  return (id) => {
    const { calls, costMicros, chargedMicros } = sums.get(id) as unknown as ConversationCharges & { calls: number };
    return calls === 0 ? null : { costMicros, chargedMicros };
  };
}
