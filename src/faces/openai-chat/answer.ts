import { NO_THOUGHTS, type ThinkingStyle } from "../../core/thinking/thoughts.ts";
import type { JsonObject } from "../../core/turn.ts";
import { ThoughtKeeper } from "../shared/thought-keeper.ts";

export interface ThinkingOptions {
  readonly style: ThinkingStyle;
  /** For this answer alone. */
  readonly keeper: ThoughtKeeper;
}

/** Returns thinking in separate fields, not stored. */
export const inFields = (): ThinkingOptions => ({ style: "fields", keeper: new ThoughtKeeper(NO_THOUGHTS, "") });

/** Returns the text for a tool that takes free text: its only argument. */
export const freeText = (args: JsonObject): string => {
  const { input } = args;
  return typeof input === "string" ? input : JSON.stringify(args);
};
