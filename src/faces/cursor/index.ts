export type { GatewayKeys, SignedInAccounts } from "./callers.ts";
export { createCursorFace } from "./cursor-face.ts";
export type { ServeRun } from "./run-connection.ts";
