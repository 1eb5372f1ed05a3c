import { ExcursorError } from "../../core/errors.ts";
import { type Message as NeutralMessage, textOf } from "../../core/turn.ts";
import type { ConversationAction } from "../../gen/agent/v1/action_pb.ts";
import type { ConversationStateStructure } from "../../gen/agent/v1/conversation_pb.ts";
import type { BlobSource } from "../../wire/agent/state/blobs.ts";
import { readPlainHistory } from "../../wire/agent/state/read-plain-history.ts";
import { checkOtherIds, readRoots, readTurns } from "../../wire/agent/state/read-state.ts";
import type { HistoryMessage } from "../../wire/agent/state/root-messages.ts";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import type { Message } from "../script/conversation.ts";
import { resultText } from "./result-text.ts";

export interface History {
  readonly messages: readonly HistoryMessage[];
  /** True if the root messages hold the whole history. */
  readonly isInRoots: boolean;
}

/**
 * Reads the conversation before this run, from its root messages like the real backend. Also accepts clients that send
 * their history only as turns, or beside the message. The source that is used must be complete.
 */
export async function readHistory(
  state: ConversationStateStructure,
  { action }: ConversationAction,
  blobs: BlobSource,
): Promise<History> {
  checkOtherIds(state, blobs);
  const [roots, turns] = await Promise.all([readRoots(state, blobs), readTurns(state, blobs)]).catch(asFailure);
  const isInRoots = turns.length === 0 || roots.some(({ role }) => role !== "system");
  const messages = isInRoots
    ? withCalls(roots, turns.at(-1))
    : [...roots, ...turns.flatMap((turn) => (turn instanceof ExcursorError ? asFailure(turn) : turn))];
  const plain = action.case === "userMessageAction" ? readPlainHistory(action.value.conversationHistory) : [];
  if (plain.length === 0 || messages.some(({ role }) => role !== "system")) return { messages, isInRoots };
  return { messages: [...messages, ...plain], isInRoots: false };
}

/** Throws an error of the state as `internal`, as the real backend does; clients depend on that code. */
export function asFailure(error: unknown): never {
  throw error instanceof ExcursorError ? new ConnectFailure("internal", error.message) : error;
}

/**
 * Replaces the last turn of the roots by the one of `turns` if only that has its calls. Some clients write calls into
 * the roots as prose, but the calls tell how far a turn got.
 */
function withCalls(
  roots: readonly HistoryMessage[],
  lastTurn: readonly NeutralMessage[] | ExcursorError | undefined,
): readonly HistoryMessage[] {
  if (!lastTurn || lastTurn instanceof ExcursorError || !lastTurn.some(hasCalls)) return roots;
  const [asked] = lastTurn;
  const start = roots.findLastIndex(
    (root) => root.role === "user" && asked?.role === "user" && textOf(root.content) === textOf(asked.content),
  );
  return start === -1 || roots.slice(start).some(hasCalls) ? roots : [...roots.slice(0, start), ...lastTurn];
}

const hasCalls = (message: HistoryMessage): boolean =>
  message.role === "assistant" && message.content.some(({ type }) => type === "tool-call");

/** Converts a message for scripts, which ignore thinking. */
export function forScript(message: HistoryMessage): Message[] {
  switch (message.role) {
    case "system":
      return [message];
    case "user": {
      const images = message.content.filter((part) => part.type === "image");
      return [
        {
          role: "user",
          text: textOf(message.content),
          images: images.map(({ mediaType, data }) => ({ type: mediaType, bytes: data.length })),
        },
      ];
    }
    case "assistant": {
      const { content } = message;
      if (content.length > 0 && content.every(({ type }) => type === "thinking")) return [];
      return [{ role: "assistant", text: textOf(content), calls: content.filter((part) => part.type === "tool-call") }];
    }
    case "tool":
      return [{ role: "tool", results: [{ callId: message.callId, text: resultText(message.content) }] }];
  }
}
