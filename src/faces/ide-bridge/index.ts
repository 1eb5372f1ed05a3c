import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

/** The bridge for the Cursor IDE: chats with agents. No route configures, runs or reads anything (SEC-45). */
export const ideBridge: FaceModule = { name: "ide-bridge", error: errorBody, routes };
