import type { FaceModule } from "../../faces/shared/face-module.ts";
import type { Route } from "./route.ts";

/** Returns the routes for monitoring, which need no key and reveal nothing else. */
export function healthRoutes(face: FaceModule, isReady: () => boolean): readonly Route[] {
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
      handle: (exchange) =>
        isReady() ? exchange.reply(200, { status: "ready" }) : exchange.reply(503, { status: "draining" }),
    },
  ];
}
