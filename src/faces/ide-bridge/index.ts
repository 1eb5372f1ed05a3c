import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

/** The bridge that the Cursor IDE calls: chat with agents, and nothing that could set up, run or read anything (SEC-45). */
export const ideBridge: FaceModule = { name: "ide-bridge", error: errorBody, routes };
