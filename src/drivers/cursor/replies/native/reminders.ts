import { type ToolMessage, textOf } from "../../../../core/turn.ts";

const OPENING = "<system-reminder>";
const CLOSING = "</system-reminder>";

/** What stands behind a result for the model alone: clients add reminders there, and so does the engine. */
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

/** A result that is read by its form, line by line. */
export const plainText = (said: ToolMessage): string => splitReminders(textOf(said.content)).text;
