import { emptyCallPaths } from "../../wire/agent/empty-calls.ts";
import type { Routes } from "../backend.ts";
import { contentType, discardBody, respondEmpty } from "./empty-response.ts";

/** Telemetry: reads and drops it, and reports success. */
export const analyticsRoutes: Routes = {
  ...Object.fromEntries(emptyCallPaths("AnalyticsService").map((path) => [`POST ${path}`, respondEmpty])),
  "POST /aiserver.v1.AnalyticsService/BootstrapStatsig": async (exchange, backend) => {
    if (contentType(exchange) !== "application/json") return respondEmpty(exchange, backend);
    await discardBody(exchange);
    // Proto JSON would omit the empty string, but clients read it.
    exchange.respondJson(200, { config: "" });
  },
};
