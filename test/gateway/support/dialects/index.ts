import type { DialectAdapter } from "../dialect.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import { gemini } from "./gemini.ts";
import { ollama } from "./ollama.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";

/** Every face that the suite runs over. */
export const DIALECTS: readonly DialectAdapter[] = [openAiChat, openAiResponses, anthropicMessages, gemini, ollama];
