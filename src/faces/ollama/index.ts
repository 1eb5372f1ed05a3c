import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

export const ollama: FaceModule = {
  name: "ollama",
  isSpokenBy: ({ "user-agent": agent }) => typeof agent === "string" && agent.startsWith("ollama"),
  error: errorBody,
  routes,
};
