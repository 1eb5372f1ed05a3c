import type { FaceModule } from "../../faces/shared/face-module.ts";
import type { Route } from "./route.ts";

/** `degraded`: requests are answered, but without what the gateway shares with others. `draining`: it is about to stop. */
export type Readiness = "ready" | "degraded" | "draining";

/** Returns the routes for monitoring, which need no key and reveal nothing else. */
export function healthRoutes(face: FaceModule, readiness: () => Readiness): readonly Route[] {
  return [
    {
      method: "GET",
      path: "/healthz",
      isOpen: true,
      face,
      handle: (exchange) => exchange.reply(200, { status: "ok" }),
    },
    {
      method: "GET",
      path: "/readyz",
      isOpen: true,
      face,
      handle: (exchange) => {
        const status = readiness();
        exchange.reply(status === "draining" ? 503 : 200, { status });
      },
    },
  ];
}
