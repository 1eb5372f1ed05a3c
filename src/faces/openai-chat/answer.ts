import type { DoneReason } from "../../core/events.ts";
import { NO_THOUGHTS, type ThinkingStyle } from "../../core/thinking/thoughts.ts";
import type { JsonObject } from "../../core/turn.ts";
import { ThoughtKeeper } from "./thought-keeper.ts";

/** What every part of one answer says about it. */
export interface AnswerHead {
  readonly id: string;
  /** In seconds. */
  readonly created: number;
  readonly model: string;
}

/** How an answer says what was thought. */
export interface ThinkingOptions {
  readonly style: ThinkingStyle;
  /** For this answer alone. */
  readonly keeper: ThoughtKeeper;
}

/** Beside the text, and nobody brings it back. */
export const inFields = (): ThinkingOptions => ({ style: "fields", keeper: new ThoughtKeeper(NO_THOUGHTS, "") });

const FINISH_REASONS = {
  stop: "stop",
  length: "length",
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
} as const satisfies Record<DoneReason, string>;

export const finishReason = (reason: DoneReason) => FINISH_REASONS[reason];

/** What a tool gets that takes free text: its only argument. */
export const freeText = (args: JsonObject): string => {
  const { input } = args;
  return typeof input === "string" ? input : JSON.stringify(args);
};
