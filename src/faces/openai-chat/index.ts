import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

export const openAiChat: FaceModule = { name: "openai-chat", error: errorBody, routes };
