import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

/** OpenAI's Responses. */
export const openAiResponses: FaceModule = { name: "openai-responses", error: errorBody, routes };
