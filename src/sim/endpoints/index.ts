import type { Routes } from "../backend.ts";
import { analyticsRoutes } from "./analytics.ts";
import { dashboardRoutes } from "./dashboard.ts";
import { loginRoutes } from "./login.ts";
import { modelRpcRoutes } from "./models/model-rpc.ts";
import { nameAgentRoutes } from "./name-agent.ts";
import { restV1Routes } from "./rest-v1.ts";
import { serverConfigRoutes } from "./server-config.ts";
import { tokenRoutes } from "./tokens.ts";
import { usageRestRoutes } from "./usage/usage-rest.ts";
import { usageRpcRoutes } from "./usage/usage-rpc.ts";

export { findModel } from "./models/find-model.ts";

/** All routes except runs and chats. */
export const endpointRoutes: Routes = {
  ...nameAgentRoutes,
  ...modelRpcRoutes,
  ...serverConfigRoutes,
  ...dashboardRoutes,
  ...analyticsRoutes,
  ...restV1Routes,
  ...usageRestRoutes,
  ...usageRpcRoutes,
  ...loginRoutes,
  ...tokenRoutes,
};
