import { acpAgent } from "../faces/acp-agent/index.ts";
import { anthropicMessages } from "../faces/anthropic-messages/index.ts";
import { cursor } from "../faces/cursor/index.ts";
import { gemini } from "../faces/gemini/index.ts";
import { ideBridge } from "../faces/ide-bridge/index.ts";
import { ollama } from "../faces/ollama/index.ts";
import { openAiChat } from "../faces/openai-chat/index.ts";
import { openAiResponses } from "../faces/openai-responses/index.ts";
import type { FaceModules } from "../faces/shared/face-module.ts";

/** The faces of the gateway. The first one answers requests that no face recognises. */
const gateway: FaceModules = [openAiChat, openAiResponses, anthropicMessages, gemini, ollama];

/** The faces of the listener for Ollama's clients. Ollama itself serves these APIs, too. */
export const OLLAMA_FACES: FaceModules = [ollama, openAiChat, openAiResponses, anthropicMessages];

/** The faces of the IDE's bridge, which has a listener and a key of its own. */
const bridge: FaceModules = [ideBridge];

/** All faces: the HTTP faces by listener, and those with a carrier of their own. */
export const FACES = { gateway, bridge, cursor, acpAgent } as const;
