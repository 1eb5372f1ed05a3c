import { hash } from "node:crypto";
import { historyKeys } from "../../core/history/history-key.ts";
import type { Turn } from "../../core/turn.ts";

const ID_LENGTH = 16;

/**
 * Returns the id of a conversation: a digest of its principal and of the history key after its first answer. Every later
 * turn brings that answer back, whichever client sends it, so nothing has to be stored. `keys` are the history keys of the
 * messages, with the answer to the first turn. Conversations of one principal with the same first question and the same
 * first answer are taken for one.
 */
export function conversationId({ principal, messages }: Turn, keys?: readonly string[]): string {
  const first = messages.findIndex(({ role }) => role === "assistant");
  const opening = first < 0 ? messages : messages.slice(0, first + 1);
  const key = keys ? keys[first < 0 ? keys.length - 1 : first + 1] : historyKeys(opening).at(-1);
  return hash("sha256", JSON.stringify([principal.id, key ?? ""]), "base64url").slice(0, ID_LENGTH);
}
