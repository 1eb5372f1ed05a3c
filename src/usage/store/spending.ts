import type { RequestRecord } from "../record/records.ts";

/** What a principal has used in a window of time, or in a conversation. */
export interface Spending {
  /** All requests; those that were answered, even in part, are the steps. */
  readonly requests: number;
  readonly steps: number;
  readonly tokens: number;
  /** Millionths of a dollar. */
  readonly dollars: number;
  /** Milliseconds of answers, and of the tools between them. */
  readonly time: number;
}

/** A record that was written with other figures. */
export interface Correction {
  readonly record: RequestRecord;
  readonly before: RequestRecord;
}

export const NOTHING: Spending = { requests: 0, steps: 0, tokens: 0, dollars: 0, time: 0 };

export const addRecord = (sum: Spending, { usage, cost, durationMs, phases }: RequestRecord): Spending => ({
  requests: sum.requests + 1,
  steps: sum.steps + (usage ? 1 : 0),
  tokens: sum.tokens + (usage ? usage.inputTokens + usage.outputTokens : 0),
  dollars: sum.dollars + (cost?.micros ?? 0),
  time: sum.time + (usage ? durationMs + (phases.park ?? 0) : 0),
});

/** Returns what a request has used. */
export const spendingOf = (record: RequestRecord): Spending => addRecord(NOTHING, record);

export function addCorrection(sum: Spending, { record, before }: Correction): Spending {
  const after = addRecord(sum, record);
  const earlier = spendingOf(before);
  return {
    requests: sum.requests,
    steps: after.steps - earlier.steps,
    tokens: after.tokens - earlier.tokens,
    dollars: after.dollars - earlier.dollars,
    time: after.time - earlier.time,
  };
}
