import { NO_THOUGHTS, type ThinkingStyle } from "../../core/thinking/thoughts.ts";
import type { JsonObject } from "../../core/turn.ts";
import { ThoughtKeeper } from "./thought-keeper.ts";

/** How an answer says what was thought. */
export interface ThinkingOptions {
  readonly style: ThinkingStyle;
  /** For this answer alone. */
  readonly keeper: ThoughtKeeper;
}

/** Beside the text, and nobody brings it back. */
export const inFields = (): ThinkingOptions => ({ style: "fields", keeper: new ThoughtKeeper(NO_THOUGHTS, "") });

/** What a tool gets that takes free text: its only argument. */
export const freeText = (args: JsonObject): string => {
  const { input } = args;
  return typeof input === "string" ? input : JSON.stringify(args);
};
