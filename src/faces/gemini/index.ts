import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

export const gemini: FaceModule = {
  name: "gemini",
  isSpokenBy: (headers) => headers["x-goog-api-key"] !== undefined || headers["x-goog-api-client"] !== undefined,
  credentials: [{ header: "x-goog-api-key" }, { query: "key" }],
  error: errorBody,
  routes,
};
