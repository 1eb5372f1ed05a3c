import { DashboardService, PrivacyMode } from "../../gen/aiserver/v1/dashboard_pb.ts";
import { emptyCallPaths } from "../../wire/agent/empty-calls.ts";
import { authenticate, issueTokens } from "../accounts.ts";
import type { Route, Routes } from "../backend.ts";
import { respondEmpty } from "./empty-response.ts";
import { identityOf } from "./identity.ts";
import { unaryRoute } from "./unary-route.ts";

const { method } = DashboardService;

const respondEmptyToAccount: Route = (exchange, backend) => {
  authenticate(exchange);
  return respondEmpty(exchange, backend);
};

/** The account: identity and settings. */
export const dashboardRoutes: Routes = {
  ...unaryRoute(method.getMe, (_, { account }) => ({ ...identityOf(account) })),
  ...unaryRoute(method.getUserPrivacyMode, () => ({ privacyMode: PrivacyMode.NO_STORAGE })),
  ...unaryRoute(method.createUserApiKey, (_, { account, backend }) => ({
    // No keys are stored, so the key itself names its owner: it contains a long-lived token.
    apiKey: `key_${issueTokens(identityOf(account).authId, backend.options.tokenTtlS).refreshToken}`,
  })),
  // As for an account without a team.
  ...Object.fromEntries(emptyCallPaths("DashboardService").map((path) => [`POST ${path}`, respondEmptyToAccount])),
};
