import type { DoneReason, TurnEvent } from "../../core/events.ts";
import type { JsonObject } from "../../core/turn.ts";

/** What the beginning of an answer says about it. */
export interface AnswerHead {
  readonly id: string;
  readonly model: string;
  /** Clients want to know what was read before anything is written: until the upstream tells, it is an estimate. */
  readonly inputTokens: () => number;
  /** What was thought is signed, and not shown. */
  readonly omitsThinking: boolean;
}

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  "tool-calls": "tool_use",
  "content-filter": "refusal",
} as const satisfies Record<DoneReason, string>;

/** Why and at what text the answer ended. */
export const stopFields = ({ reason, stopSequence }: Extract<TurnEvent, { type: "done" }>): JsonObject => ({
  stop_reason: stopSequence === undefined ? STOP_REASONS[reason] : "stop_sequence",
  stop_sequence: stopSequence ?? null,
});
