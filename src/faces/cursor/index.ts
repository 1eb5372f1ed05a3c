import type { CarriedFace } from "../shared/face-module.ts";
import type { CursorFace, CursorFaceOptions } from "./face.ts";
import type { ServeRunParts } from "./run/serve-run.ts";

export { type GatewayKeys, invalidToken, type SignedInAccounts } from "./callers.ts";
export { FACE_HEALTH_PATH } from "./health-path.ts";

export interface CursorFaceParts extends Omit<CursorFaceOptions, "serveRun"> {
  /** What answers the runs of our own models. */
  readonly runs: ServeRunParts;
}

/** Cursor's own clients: Connect, over both versions of HTTP. */
export const cursor: CarriedFace<CursorFaceParts, CursorFace> = {
  name: "cursor",
  carrier: "connect",
  async open({ runs, ...options }) {
    const [{ createCursorFace }, { createServeRun }] = await Promise.all([
      import("./face.ts"),
      import("./run/serve-run.ts"),
    ]);
    return createCursorFace({ ...options, serveRun: createServeRun(runs) });
  },
};
