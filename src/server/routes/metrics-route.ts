import { ExcursorError } from "../../core/errors.ts";
import type { FaceModule } from "../../faces/shared/face-module.ts";
import type { MetricsPage } from "../../metrics/metrics.ts";
import { isOwner } from "../gate/keys/caller-keys.ts";
import type { Route } from "./route.ts";

export const METRICS_PATH = "/metrics";

export interface MetricsRouteOptions {
  readonly page: MetricsPage;
  /** Without a key. */
  readonly isOpen: boolean;
}

/** The metrics for Prometheus. They show what all keys do, so only the owner's key opens them. */
export const metricsRoute = (face: FaceModule, { page, isOpen }: MetricsRouteOptions): Route => ({
  method: "GET",
  path: METRICS_PATH,
  isOpen,
  // A scrape every few seconds would fill the record, and count itself.
  isUnrecorded: true,
  face,
  async handle(exchange) {
    if (!isOpen && !isOwner(exchange.asker)) throw notForThisKey();
    exchange.replyText(200, await page.render(), page.contentType);
  },
});

const notForThisKey = (): ExcursorError =>
  new ExcursorError("owner_only", `${METRICS_PATH} is for the gateway's own key.`);
