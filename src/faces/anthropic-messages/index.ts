import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

export const anthropicMessages: FaceModule = {
  name: "anthropic-messages",
  isSpokenBy: (headers) => headers["anthropic-version"] !== undefined,
  error: errorBody,
  routes,
};
