import type { Charge } from "../core/charge.ts";
import type { Secret } from "../core/secret.ts";
import { DashboardService } from "../gen/aiserver/v1/dashboard_pb.ts";
import type { UsageEventDisplay } from "../gen/aiserver/v1/usage_pb.ts";
import { callHeaders } from "../wire/agent/headers.ts";
import { callUnary } from "../wire/connect/unary.ts";
import type { HttpTransport } from "../wire/http/http.ts";

/** How and where to ask. */
export interface AccountCall {
  readonly transport: HttpTransport;
  readonly origin: string;
  readonly clientVersion?: string | undefined;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What Cursor says of an account's current billing period. Amounts are cents. */
export interface PeriodUsage {
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  readonly endMs: number;
  readonly plan: PlanUsage | undefined;
}

/** Percentages are Cursor's own. They are not spend by limit, since bonus usage does not count in the limit. */
export interface PlanUsage {
  readonly used: number;
  readonly limit: number;
  readonly remaining: number;
  readonly percentUsed: number | undefined;
  readonly autoPercentUsed: number | undefined;
  readonly apiPercentUsed: number | undefined;
}

const TIMEOUT_MS = 15_000;
const PAGE_SIZE = 200;
const MAX_PAGES = 50;

/** Asks for the current billing period. Rejects if the token is not accepted. */
export async function loadPeriodUsage(token: Secret, call: AccountCall): Promise<PeriodUsage> {
  const { getCurrentPeriodUsage: method } = DashboardService.method;
  // As JSON, as Cursor's own clients do.
  const usage = await callUnary({ ...optionsOf(token, call), method, input: {}, codec: "json" });
  const { planUsage: plan } = usage;
  return {
    startMs: Number(usage.billingCycleStart),
    endMs: Number(usage.billingCycleEnd),
    plan: plan && {
      used: plan.totalSpend,
      limit: plan.limit,
      remaining: plan.remaining,
      percentUsed: plan.totalPercentUsed,
      autoPercentUsed: plan.autoPercentUsed,
      apiPercentUsed: plan.apiPercentUsed,
    },
  };
}

/** Returns whether Cursor answers the account slowly for now, since its plan is used up. */
export async function loadIsInSlowPool(token: Secret, call: AccountCall): Promise<boolean> {
  const { getUsageLimitPolicyStatus: method } = DashboardService.method;
  return (await callUnary({ ...optionsOf(token, call), method, input: {} })).isInSlowPool;
}

/**
 * Asks for what was billed since a moment. `isWhole` is false if there was more than fits: then the events are some of
 * them, and those of a moment may be missing.
 */
export async function loadUsageEvents(
  token: Secret,
  { sinceMs, untilMs }: { readonly sinceMs: number; readonly untilMs: number },
  call: AccountCall,
): Promise<{ readonly events: readonly Charge[]; readonly isWhole: boolean }> {
  const { getFilteredUsageEvents: method } = DashboardService.method;
  const events: Charge[] = [];
  for (let page = 1; page <= MAX_PAGES; page++) {
    const input = { startDate: BigInt(sinceMs), endDate: BigInt(untilMs), page, pageSize: PAGE_SIZE };
    const { usageEventsDisplay } = await callUnary({ ...optionsOf(token, call), method, input });
    events.push(...usageEventsDisplay.map(eventOf));
    if (usageEventsDisplay.length < PAGE_SIZE) return { events, isWhole: true };
  }
  return { events, isWhole: false };
}

/** Cursor counts the cached tokens beside the input. */
function eventOf({ timestamp, model, tokenUsage, chargedCents = 0, conversationId = "" }: UsageEventDisplay): Charge {
  const {
    inputTokens = 0,
    outputTokens = 0,
    cacheReadTokens = 0,
    cacheWriteTokens = 0,
    totalCents = 0,
  } = tokenUsage ?? {};
  return {
    at: Number(timestamp),
    conversationId,
    model,
    inputTokens: inputTokens + cacheReadTokens + cacheWriteTokens,
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens,
    costMicros: microsOf(totalCents),
    chargedMicros: microsOf(chargedCents),
  };
}

const microsOf = (cents: number): number => Math.round(cents * 10_000);

const optionsOf = (
  token: Secret,
  { transport, origin, clientVersion, timeoutMs = TIMEOUT_MS, signal }: AccountCall,
) => ({
  transport,
  origin,
  timeoutMs,
  headers: callHeaders("unary-proto", {
    token: token.reveal(),
    ...(clientVersion === undefined ? {} : { clientVersion }),
  }),
  ...(signal && { signal }),
});
