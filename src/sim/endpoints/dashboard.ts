import { DashboardService, PrivacyMode } from "../../gen/aiserver/v1/dashboard_pb.ts";
import { authenticate, issueTokens } from "../accounts.ts";
import type { Routes } from "../backend.ts";
import { billingCycle, PLAN } from "./billing.ts";
import { answerEmpty } from "./empty-answer.ts";
import { identityOf } from "./identity.ts";
import { unaryRoute } from "./unary-route.ts";

const { method } = DashboardService;

/** The account: who it is, what it allows, what it has used. */
export const dashboardRoutes: Routes = {
  ...unaryRoute(method.getMe, (_, { account }) => ({ ...identityOf(account) })),
  ...unaryRoute(method.getUserPrivacyMode, () => ({ privacyMode: PrivacyMode.NO_STORAGE })),
  ...unaryRoute(method.getCurrentPeriodUsage, () => {
    const { startMs, endMs } = billingCycle(Date.now());
    return {
      billingCycleStart: BigInt(startMs),
      billingCycleEnd: BigInt(endMs),
      planUsage: {
        totalSpend: PLAN.used,
        includedSpend: PLAN.used,
        remaining: PLAN.remaining,
        limit: PLAN.limit,
        autoPercentUsed: PLAN.autoPercentUsed,
        apiPercentUsed: PLAN.apiPercentUsed,
        totalPercentUsed: PLAN.totalPercentUsed,
      },
      spendLimitUsage: {},
    };
  }),
  ...unaryRoute(method.createUserApiKey, (_, { account, backend }) => ({
    // Nothing is remembered here, so the key itself says whose it is: it is read like the long-lived token inside it.
    apiKey: `key_${issueTokens(identityOf(account).authId, backend.options.tokenTtlS).refreshToken}`,
  })),
  ...unaryRoute(method.getTeamAdminSettingsOrEmptyIfNotInTeam, () => ({})),
  // Of the many other methods some stand in the way of a run: the official client asks for the team's repositories
  // before each of its own tools and takes a failure for the tool's. An empty message is what an account without a team gets.
  [`POST /${DashboardService.typeName}/*`](exchange, backend) {
    authenticate(exchange);
    return answerEmpty(exchange, backend);
  },
};
