import type { Routes } from "../backend.ts";
import { answerEmpty, contentType, discardBody } from "./empty-answer.ts";

/** Telemetry: read to its end, kept nowhere, answered as if it had been. */
export const analyticsRoutes: Routes = {
  "POST /aiserver.v1.AnalyticsService/BootstrapStatsig": async (exchange, backend) => {
    if (contentType(exchange) !== "application/json") return answerEmpty(exchange, backend);
    await discardBody(exchange);
    // Proto JSON would leave the empty string out, and clients read it.
    exchange.respondJson(200, { config: "" });
  },
  "POST /aiserver.v1.AnalyticsService/*": answerEmpty,
};
