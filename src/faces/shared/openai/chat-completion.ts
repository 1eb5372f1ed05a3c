import type { DoneReason, Usage } from "../../../core/events.ts";
import type { JsonObject } from "../../../core/turn.ts";
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

export const chatCompletion = (
  { id, created, model }: CompletionHead,
  message: JsonObject,
  reason: DoneReason,
  usage: Usage | undefined,
): JsonObject => ({
  id,
  object: "chat.completion",
  created,
  model,
  choices: [{ index: 0, message, logprobs: null, finish_reason: finishReason(reason) }],
  ...(usage && { usage: usageObject(usage) }),
});
