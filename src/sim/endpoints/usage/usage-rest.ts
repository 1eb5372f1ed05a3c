import { type Account, authenticate } from "../../accounts.ts";
import type { Backend, Route, Routes } from "../../backend.ts";
import { identityOf } from "../identity.ts";
import { authenticateCookie, hasSessionCookie } from "../session-cookie.ts";
import { billingCycle, MEMBERSHIP, planUsage } from "./billing.ts";

const forBearer =
  (answer: (account: Account) => unknown): Route =>
  (exchange) =>
    exchange.respondJson(200, answer(authenticate(exchange)));

/** Plan and usage for the editor and the web dashboard. */
export const usageRestRoutes: Routes = {
  "GET /auth/usage": forBearer(() => requestCounts()),
  "GET /api/usage/summary": (exchange, backend) => {
    const account = (hasSessionCookie(exchange) ? authenticateCookie : authenticate)(exchange);
    exchange.respondJson(200, usageSummary(account, backend));
  },
  "GET /api/usage-summary": (exchange, backend) =>
    exchange.respondJson(200, usageSummary(authenticateCookie(exchange), backend)),
};

function requestCounts() {
  const { startMs } = billingCycle(Date.now());
  return {
    "gpt-4": { numRequests: 0, numRequestsTotal: 0, numTokens: 0, maxRequestUsage: 500, maxTokenUsage: null },
    startOfMonth: new Date(startMs).toISOString(),
  };
}

function usageSummary(account: Account, { charges }: Backend) {
  const now = Date.now();
  const { startMs, endMs } = billingCycle(now);
  const { userId, authId } = identityOf(account);
  const { onDemand, ...plan } = planUsage(charges, authId, now);
  return {
    userId,
    billingCycleStart: new Date(startMs).toISOString(),
    billingCycleEnd: new Date(endMs).toISOString(),
    membershipType: MEMBERSHIP,
    limitType: "user",
    isUnlimited: false,
    individualUsage: {
      plan: { enabled: true, ...plan },
      onDemand: { enabled: onDemand > 0, used: onDemand, limit: 0, remaining: 0 },
    },
    teamUsage: {},
  };
}
