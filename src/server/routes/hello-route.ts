import type { Face } from "../../faces/shared/face.ts";
import type { Route } from "./route.ts";

/** For clients that look, without a key, whether anybody is there before they ask. */
export const helloRoute = (path: string, face: Face): Route => ({
  method: "GET",
  path,
  isOpen: true,
  face,
  handle: (exchange) => exchange.reply(200, { status: "ok" }),
});
