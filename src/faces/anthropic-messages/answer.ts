import type { DoneReason, TurnEvent } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";

/** The fields that open an answer. */
export interface AnswerHead {
  readonly id: string;
  readonly model: string;
  /** An estimate for `message_start`, which is sent before the upstream reports usage. */
  readonly inputTokens: () => number;
  /** True if thinking is signed but its text is not sent. */
  readonly omitsThinking: boolean;
}

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  "tool-calls": "tool_use",
  "content-filter": "refusal",
} as const satisfies Record<DoneReason, string>;

/** Returns why the answer ended, and at which stop sequence. */
export const stopFields = ({ reason, stopSequence }: Extract<TurnEvent, { type: "done" }>): JsonObject => ({
  stop_reason: stopSequence === undefined ? STOP_REASONS[reason] : "stop_sequence",
  stop_sequence: stopSequence ?? null,
});
