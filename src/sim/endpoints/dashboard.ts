import { DashboardService } from "../../gen/aiserver/v1/dashboard_pb.ts";
import { issueTokens } from "../accounts.ts";
import type { Routes } from "../backend.ts";
import { identityOf } from "./identity.ts";
import { unaryRoute } from "./unary-route.ts";

export const dashboardRoutes: Routes = unaryRoute(
  DashboardService.method.createUserApiKey,
  (_, { account, backend }) => ({
    // No keys are stored, so the key itself names its owner: it contains a long-lived token.
    apiKey: `key_${issueTokens(identityOf(account).authId, backend.options.tokenTtlS).refreshToken}`,
  }),
);
