import type { ChatCompletion, ChatCompletionMessage } from "openai/resources/chat/completions";
import type { DoneReason, Usage } from "../../../core/events.ts";
import type { Official } from "../official.ts";
import { usageObject } from "./openai-usage.ts";

/** The fields that every chunk of an answer repeats. */
export interface CompletionHead {
  readonly id: string;
  /** In seconds since the epoch. */
  readonly created: number;
  readonly model: string;
}

const FINISH_REASONS = {
  stop: "stop",
  length: "length",
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
} as const satisfies Record<DoneReason, string>;

export const finishReason = (reason: DoneReason) => FINISH_REASONS[reason];

/** What we add to the official message: thinking, by the two names that clients read (LiteLLM and Cline; OpenRouter's clients). */
interface OwnMessage {
  readonly reasoning_content?: string;
  readonly reasoning?: string;
}

export type CompletionMessage = Official<ChatCompletionMessage> & OwnMessage;

export const chatCompletion = (
  { id, created, model }: CompletionHead,
  message: CompletionMessage,
  reason: DoneReason,
  usage: Usage | undefined,
): Official<ChatCompletion> => ({
  id,
  object: "chat.completion",
  created,
  model,
  choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(reason) }],
  service_tier: "default",
  ...(usage && { usage: usageObject(usage) }),
});
