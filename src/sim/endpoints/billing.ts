/** The figures of all usage endpoints, in cents: a quarter of the plan is used, and nothing beyond it. */
export const PLAN = {
  limit: 2000,
  used: 500,
  remaining: 1500,
  autoPercentUsed: 10,
  apiPercentUsed: 15,
  totalPercentUsed: 25,
} as const;

export const MEMBERSHIP = "pro";

export interface BillingCycle {
  readonly startMs: number;
  readonly endMs: number;
}

/** Returns the calendar month, in UTC. */
export function billingCycle(nowMs: number): BillingCycle {
  const now = new Date(nowMs);
  const month = (offset: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1);
  return { startMs: month(0), endMs: month(1) };
}
