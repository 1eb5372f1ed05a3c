import type { RequestRecord } from "../record/records.ts";

/** What a principal has used in a window of time, or in a conversation. */
export interface Spending {
  readonly requests: number;
  readonly tokens: number;
  /** Millionths of a dollar. */
  readonly dollars: number;
}

/** A record that was written with other figures. */
export interface Correction {
  readonly record: RequestRecord;
  readonly before: RequestRecord;
}

export const NOTHING: Spending = { requests: 0, tokens: 0, dollars: 0 };

export const addRecord = (sum: Spending, { usage, cost }: RequestRecord): Spending => ({
  requests: sum.requests + 1,
  tokens: sum.tokens + (usage ? usage.inputTokens + usage.outputTokens : 0),
  dollars: sum.dollars + (cost?.micros ?? 0),
});

/** Returns what a request has used. */
export const spendingOf = (record: RequestRecord): Spending => addRecord(NOTHING, record);

export function addCorrection(sum: Spending, { record, before }: Correction): Spending {
  const after = addRecord(sum, record);
  const earlier = spendingOf(before);
  return {
    requests: sum.requests,
    tokens: after.tokens - earlier.tokens,
    dollars: after.dollars - earlier.dollars,
  };
}
