export type { GatewayKeys, SignedInAccounts } from "./callers.ts";
export { createCursorFace, FACE_HEALTH_PATH } from "./cursor-face.ts";
export type { ServeRun } from "./run-connection.ts";
