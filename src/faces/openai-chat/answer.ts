import type { DoneReason } from "../../core/events.ts";

/** What every part of one answer says about it. */
export interface AnswerHead {
  readonly id: string;
  /** In seconds. */
  readonly created: number;
  readonly model: string;
}

/** The field that carries thinking; OpenAI's own API has none, and clients know different ones. */
export type ReasoningField = "reasoning_content" | "reasoning";

const FINISH_REASONS = {
  stop: "stop",
  length: "length",
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
} as const satisfies Record<DoneReason, string>;

export const finishReason = (reason: DoneReason) => FINISH_REASONS[reason];
