import { anthropicMessages } from "../faces/anthropic-messages/index.ts";
import { ideBridge } from "../faces/ide-bridge/index.ts";
import { openAiChat } from "../faces/openai-chat/index.ts";
import { openAiResponses } from "../faces/openai-responses/index.ts";
import type { FaceModules } from "../faces/shared/face-module.ts";

/** The faces of the gateway. The first one answers requests that no face recognises. */
export const GATEWAY_FACES: FaceModules = [openAiChat, openAiResponses, anthropicMessages];

/** The faces of the IDE's bridge, which has a listener and a key of its own. */
export const BRIDGE_FACES: FaceModules = [ideBridge];
