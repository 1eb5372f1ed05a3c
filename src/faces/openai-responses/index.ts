import type { FaceModule } from "../shared/face-module.ts";
import { errorBody } from "./errors.ts";
import { routes } from "./routes.ts";

export const openAiResponses: FaceModule = { name: "openai-responses", error: errorBody, routes };
