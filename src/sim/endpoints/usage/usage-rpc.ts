import { DashboardService } from "../../../gen/aiserver/v1/dashboard_pb.ts";
import { UsageEventKind } from "../../../gen/aiserver/v1/usage_pb.ts";
import type { Routes } from "../../backend.ts";
import { identityOf } from "../identity.ts";
import { type Caller, unaryRoute } from "../unary-route.ts";
import { billingCycle, type PricedCharge, planUsage, pricedCharges } from "./billing.ts";

const { method } = DashboardService;

const PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 1000;

/** What an account has used and is charged, by the turns that it has run here. */
export const usageRpcRoutes: Routes = {
  ...unaryRoute(method.getCurrentPeriodUsage, (_, { account, backend }) => {
    const now = Date.now();
    const { startMs, endMs } = billingCycle(now);
    const plan = planUsage(backend.charges, identityOf(account).authId, now);
    return {
      billingCycleStart: BigInt(startMs),
      billingCycleEnd: BigInt(endMs),
      enabled: true,
      planUsage: {
        totalSpend: plan.used,
        includedSpend: plan.used,
        remaining: plan.remaining,
        limit: plan.limit,
        autoPercentUsed: plan.autoPercentUsed,
        apiPercentUsed: plan.apiPercentUsed,
        totalPercentUsed: plan.totalPercentUsed,
      },
      spendLimitUsage: { totalSpend: plan.onDemand, individualUsed: plan.onDemand, limitType: "user" },
    };
  }),
  ...unaryRoute(method.getFilteredUsageEvents, ({ startDate, endDate, modelId, page = 1, pageSize }, caller) => {
    const size = Math.min(MAX_PAGE_SIZE, Math.max(1, pageSize ?? PAGE_SIZE));
    const all = chargesOf(caller, startDate, endDate)
      .filter(({ model }) => modelId === undefined || model === modelId)
      .reverse();
    return {
      totalUsageEventsCount: all.length,
      usageEventsDisplay: all.slice((page - 1) * size, page * size).map(eventOf),
    };
  }),
  ...unaryRoute(method.getAggregatedUsageEvents, ({ startDate, endDate }, caller) => {
    const aggregations = [...Map.groupBy(chargesOf(caller, startDate, endDate), ({ model }) => model)].map(
      ([modelIntent, charges]) => ({ modelIntent, ...sumOf(charges) }),
    );
    const { totalCents, ...total } = sumOf(chargesOf(caller, startDate, endDate));
    return {
      aggregations,
      totalInputTokens: total.inputTokens,
      totalOutputTokens: total.outputTokens,
      totalCacheReadTokens: total.cacheReadTokens,
      totalCacheWriteTokens: total.cacheWriteTokens,
      totalCostCents: totalCents,
    };
  }),
  ...unaryRoute(method.getUsageLimitPolicyStatus, () => ({ resetAtMs: BigInt(billingCycle(Date.now()).endMs) })),
};

function chargesOf({ account, backend }: Caller, start?: bigint, end?: bigint): readonly PricedCharge[] {
  const from = start === undefined ? Number.NEGATIVE_INFINITY : Number(start);
  const until = end === undefined ? Number.POSITIVE_INFINITY : Number(end);
  const all = pricedCharges(backend.charges, identityOf(account).authId, Date.now());
  return all.filter(({ at }) => at >= from && at <= until);
}

const eventOf = (charge: PricedCharge) => ({
  timestamp: BigInt(charge.at),
  model: charge.model,
  kind: charge.chargedCents > 0 ? UsageEventKind.USAGE_BASED : UsageEventKind.INCLUDED_IN_PRO,
  isTokenBasedCall: true,
  tokenUsage: {
    inputTokens: charge.inputTokens - charge.cacheReadTokens - charge.cacheWriteTokens,
    outputTokens: charge.outputTokens,
    cacheReadTokens: charge.cacheReadTokens,
    cacheWriteTokens: charge.cacheWriteTokens,
    totalCents: charge.cents,
  },
  isChargeable: charge.chargedCents > 0,
  isHeadless: true,
  chargedCents: charge.chargedCents,
  clientType: "cli",
  conversationId: charge.conversationId,
});

function sumOf(charges: readonly PricedCharge[]) {
  const sum = (field: "inputTokens" | "outputTokens" | "cacheReadTokens" | "cacheWriteTokens") =>
    BigInt(charges.reduce((total, charge) => total + charge[field], 0));
  const cacheReadTokens = sum("cacheReadTokens");
  const cacheWriteTokens = sum("cacheWriteTokens");
  return {
    inputTokens: sum("inputTokens") - cacheReadTokens - cacheWriteTokens,
    outputTokens: sum("outputTokens"),
    cacheReadTokens,
    cacheWriteTokens,
    totalCents: charges.reduce((total, { cents }) => total + cents, 0),
  };
}
