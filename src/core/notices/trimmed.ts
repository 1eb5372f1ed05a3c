import type { TurnEvent } from "../events.ts";

/** The code of a notice that says how many messages were left out to fit the context window. It comes first. */
export const TRIMMED = "trimmed";

export const trimmedNotice = (messages: number): TurnEvent => ({
  type: "notice",
  code: TRIMMED,
  text: `messages=${messages}`,
});
