import { historyKeys } from "../core/history/history-key.ts";
import type { AssistantMessage, Message } from "../core/turn.ts";

const ID_LENGTH = 16;

/**
 * Returns the id of a conversation: the history key after its first answer, shortened. Every later turn brings that answer
 * back, whichever client sends it, so nothing has to be stored. `answer` is the answer to the first turn. Conversations
 * with the same first question and the same first answer are taken for one.
 */
export function conversationId(messages: readonly Message[], answer?: AssistantMessage): string {
  const first = messages.findIndex(({ role }) => role === "assistant");
  if (first < 0) return shorten(historyKeys(answer ? [...messages, answer] : messages));
  return shorten(historyKeys(messages.slice(0, first + 1)));
}

const shorten = (keys: readonly string[]): string => (keys.at(-1) ?? "").slice(0, ID_LENGTH);
