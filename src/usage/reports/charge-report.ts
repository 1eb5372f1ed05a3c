import type { DatabaseSync } from "node:sqlite";
import { KEYS_PER_MS } from "../store/row-values.ts";

/** What Cursor has charged, beside our own estimate. Money is in millionths of a US dollar. */
interface ChargeSums {
  /** How many calls Cursor has billed. */
  readonly calls: number;
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  /** What the tokens cost by Cursor, whether the plan includes them or not. */
  readonly costMicros: number;
  /** What is charged beyond the plan. */
  readonly chargedMicros: number;
}

/** The charges of a conversation and the estimate of the same requests. */
export interface Reconciled extends ChargeSums {
  /** By the price list, of the requests that Cursor has answered. */
  readonly estimateMicros: number;
  /** Cursor's cost minus the estimate. */
  readonly differenceMicros: number;
}

export interface ChargeReport {
  /** By our id of the conversation. */
  readonly conversations: ReadonlyMap<string, Reconciled>;
  /** Of conversations that are not in this record: other programs, other machines. */
  readonly elsewhere: ChargeSums | undefined;
}

const SUMS = `count(*) AS calls, total(charge.input) AS input, total(charge.output) AS output, total(charge.cached) AS cached,
  total(charge.cost_micros) AS costMicros, total(charge.charged_micros) AS chargedMicros`;

/** Reconciles what Cursor has charged in a range of time with the requests of that range, by conversation. */
export function reportCharges(
  connection: DatabaseSync,
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
): ChargeReport {
  // A replayed conversation has several ids at Cursor. Each of them belongs to one conversation.
  const sums = connection
    .prepare(
      `SELECT (SELECT min(conversation) FROM run WHERE upstream_conversation = charge.conversation) AS name, ${SUMS}
        FROM charge WHERE charge.at >= ? AND charge.at < ? GROUP BY 1`,
    )
    .all(fromMs, untilMs) as unknown as readonly (ChargeSums & { readonly name: string | null })[];
  const estimate = connection.prepare(
    `SELECT total(cost_micros) AS micros FROM request
      WHERE conversation = ? AND driver LIKE 'cursor%' AND at >= ? AND at < ?`,
  );
  const conversations = new Map<string, Reconciled>();
  let elsewhere: ChargeSums | undefined;
  for (const { name, ...charged } of sums) {
    if (name === null) elsewhere = charged;
    else {
      const row = estimate.get(name, fromMs * KEYS_PER_MS, untilMs * KEYS_PER_MS);
      const estimateMicros = Number(row?.["micros"] ?? 0);
      const differenceMicros = charged.costMicros - estimateMicros;
      conversations.set(name, { ...charged, estimateMicros, differenceMicros });
    }
  }
  return { conversations, elsewhere };
}
