import type { FaceModule } from "../../faces/shared/face-module.ts";
import type { Route } from "./route.ts";

/**
 * For those who watch over the process, who have no key: whether it lives, and whether it takes requests. Neither
 * says anything else about it.
 */
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
