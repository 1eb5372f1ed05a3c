import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

/**
 * The bridge that the Cursor IDE calls. It only chats with agents: no route configures, runs or reads anything
 * (SEC-45).
 */
export const ideBridge: FaceModule = { name: "ide-bridge", error: errorBody, routes };
