import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

/** OpenAI's Chat Completions. */
export const openAiChat: FaceModule = { name: "openai-chat", error: errorBody, routes };
