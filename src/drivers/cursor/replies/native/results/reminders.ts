import { type ToolMessage, textOf } from "../../../../../core/turn.ts";

const OPENING = "<system-reminder>";
const CLOSING = "</system-reminder>";

/** Splits off reminders after a result, which clients and the engine add for the model. */
export function splitReminders(text: string): { readonly text: string; readonly reminders: string } {
  const whole = text.trimEnd();
  let plain = whole;
  while (plain.endsWith(CLOSING)) {
    const start = plain.lastIndexOf(OPENING);
    if (start < 0) break;
    plain = plain.slice(0, start).trimEnd();
  }
  return plain === whole ? { text, reminders: "" } : { text: plain, reminders: whole.slice(plain.length).trim() };
}

/** Returns the text of a result without reminders, for parsing. */
export const plainText = (said: ToolMessage): string => splitReminders(textOf(said.content)).text;
