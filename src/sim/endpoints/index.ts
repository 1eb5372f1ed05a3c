import type { Routes } from "../backend.ts";
import { dashboardRoutes } from "./dashboard.ts";
import { loginRoutes } from "./login.ts";
import { modelRpcRoutes } from "./models/model-rpc.ts";
import { restV1Routes } from "./rest-v1.ts";
import { startRoutes } from "./start.ts";
import { tokenRoutes } from "./tokens.ts";
import { usageRestRoutes } from "./usage/usage-rest.ts";
import { usageRpcRoutes } from "./usage/usage-rpc.ts";

export { findModel } from "./models/find-model.ts";

/** All routes except runs and chats. */
export const endpointRoutes: Routes = {
  ...startRoutes,
  ...modelRpcRoutes,
  ...dashboardRoutes,
  ...restV1Routes,
  ...usageRestRoutes,
  ...usageRpcRoutes,
  ...loginRoutes,
  ...tokenRoutes,
};
