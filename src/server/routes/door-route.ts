import type { FaceModule } from "../../faces/shared/face-module.ts";
import type { Route } from "./route.ts";

export const DOOR_PATH = "/door";

/** Where a gateway listens, for the commands of its machine. */
export interface DoorFacts {
  readonly host: string;
  readonly port: number;
  /** For Cursor's own clients. */
  readonly cursorUrl: string | null;
  /** For the Cursor IDE. */
  readonly bridgeUrl: string | null;
}

export const doorRoute = (face: FaceModule, facts: () => DoorFacts): Route => ({
  method: "GET",
  path: DOOR_PATH,
  isInternal: true,
  face,
  handle: (exchange) => exchange.reply(200, { ...facts() }, { "cache-control": "no-store" }),
});
