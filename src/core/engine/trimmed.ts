import type { TurnEvent } from "../events.ts";

/** The code of a notice that tells what was left out of a conversation to fit the model's window. It comes first. */
export const TRIMMED = "trimmed";

export const trimmedNotice = (messages: number): TurnEvent => ({
  type: "notice",
  code: TRIMMED,
  text: `messages=${messages}`,
});
