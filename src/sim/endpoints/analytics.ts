import { emptyCallPaths } from "../../wire/agent/empty-calls.ts";
import type { Routes } from "../backend.ts";
import { answerEmpty, contentType, discardBody } from "./empty-answer.ts";

/** Telemetry: reads and drops it, and reports success. */
export const analyticsRoutes: Routes = {
  ...Object.fromEntries(emptyCallPaths("AnalyticsService").map((path) => [`POST ${path}`, answerEmpty])),
  "POST /aiserver.v1.AnalyticsService/BootstrapStatsig": async (exchange, backend) => {
    if (contentType(exchange) !== "application/json") return answerEmpty(exchange, backend);
    await discardBody(exchange);
    // Proto JSON would omit the empty string, but clients read it.
    exchange.respondJson(200, { config: "" });
  },
};
