import { type Charge, type Charges, centsOf } from "../../charges.ts";

/** The plan, in cents. A quarter of it was used elsewhere before the simulator started. */
const PLAN = { limit: 2000, usedBefore: 500, autoUsedBefore: 200 } as const;

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

/** The figures of all usage endpoints, in cents. */
export interface PlanUsage {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** What was used beyond the plan. */
  readonly onDemand: number;
  readonly autoPercentUsed: number;
  readonly apiPercentUsed: number;
  readonly totalPercentUsed: number;
}

/** Returns what an account has used of its plan in the current cycle. */
export function planUsage(charges: Charges, accountId: string, nowMs: number): PlanUsage {
  const { startMs, endMs } = billingCycle(nowMs);
  const cents = charges.list(accountId, startMs, endMs).reduce((sum, charge) => sum + centsOf(charge), 0);
  const total = PLAN.usedBefore + cents;
  const used = Math.min(PLAN.limit, Math.round(total));
  const percent = (part: number) => (Math.min(part, PLAN.limit) / PLAN.limit) * 100;
  return {
    limit: PLAN.limit,
    used,
    remaining: PLAN.limit - used,
    onDemand: Math.max(0, Math.round(total - PLAN.limit)),
    autoPercentUsed: percent(PLAN.autoUsedBefore),
    apiPercentUsed: percent(total - PLAN.autoUsedBefore),
    totalPercentUsed: percent(total),
  };
}

/** A charge with what the plan leaves to pay of it. */
export interface PricedCharge extends Charge {
  readonly cents: number;
  readonly chargedCents: number;
}

/** Returns the charges of the cycle with their prices, oldest first. The plan pays until it is used up. */
export function pricedCharges(charges: Charges, accountId: string, nowMs: number): readonly PricedCharge[] {
  const { startMs, endMs } = billingCycle(nowMs);
  let total: number = PLAN.usedBefore;
  return charges.list(accountId, startMs, endMs).map((charge) => {
    const cents = centsOf(charge);
    total += cents;
    return { ...charge, cents, chargedCents: Math.min(cents, Math.max(0, total - PLAN.limit)) };
  });
}
