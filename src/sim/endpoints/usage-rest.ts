import { authenticate } from "../accounts.ts";
import type { Route, Routes } from "../backend.ts";
import { billingCycle, MEMBERSHIP, PLAN } from "./billing.ts";
import { identityOf } from "./identity.ts";
import { authenticateCookie, hasSessionCookie } from "./session-cookie.ts";

/** Plan and usage for the editor and the web dashboard. */
export const usageRestRoutes: Routes = {
  "GET /auth/full_stripe_profile": (exchange) => {
    authenticate(exchange);
    exchange.respondJson(200, stripeProfile());
  },
  "GET /auth/stripe_profile": (exchange) => {
    authenticate(exchange);
    exchange.respondJson(200, stripeProfile());
  },
  "GET /auth/usage": (exchange) => {
    authenticate(exchange);
    exchange.respondJson(200, requestCounts());
  },
  "GET /api/usage/summary": (exchange, backend) =>
    hasSessionCookie(exchange) ? summaryForCookie(exchange, backend) : summaryForBearer(exchange, backend),
  "GET /api/usage-summary": (exchange, backend) => summaryForCookie(exchange, backend),
};

const summaryForBearer: Route = (exchange) => {
  exchange.respondJson(200, usageSummary(identityOf(authenticate(exchange)).userId));
};

const summaryForCookie: Route = (exchange) => {
  exchange.respondJson(200, usageSummary(identityOf(authenticateCookie(exchange)).userId));
};

const stripeProfile = () => ({
  membershipType: MEMBERSHIP,
  individualMembershipType: MEMBERSHIP,
  subscriptionStatus: "active",
  isTeamMember: false,
});

function requestCounts() {
  const { startMs } = billingCycle(Date.now());
  return {
    "gpt-4": { numRequests: 0, numRequestsTotal: 0, numTokens: 0, maxRequestUsage: 500, maxTokenUsage: null },
    startOfMonth: new Date(startMs).toISOString(),
  };
}

function usageSummary(userId: number) {
  const { startMs, endMs } = billingCycle(Date.now());
  return {
    userId,
    billingCycleStart: new Date(startMs).toISOString(),
    billingCycleEnd: new Date(endMs).toISOString(),
    membershipType: MEMBERSHIP,
    limitType: "user",
    isUnlimited: false,
    individualUsage: {
      plan: { enabled: true, ...PLAN },
      onDemand: { enabled: false, used: 0, limit: 0, remaining: 0 },
    },
    teamUsage: {},
  };
}
