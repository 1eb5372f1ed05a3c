import { fromBinary } from "@bufbuild/protobuf";
import { ExcursorError } from "../../../core/errors.ts";
import type { Message } from "../../../core/turn.ts";
import {
  type ConversationStateStructure,
  ConversationTurnStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import { type TodoItem, TodoItemSchema } from "../../../gen/agent/v1/plan_pb.ts";
import { ConversationStepSchema, type ToolCall } from "../../../gen/agent/v1/tool_call_pb.ts";
import { UserMessageSchema, type UserMessage as WireUserMessage } from "../../../gen/agent/v1/user_message_pb.ts";
import { BLOB_NOT_FOUND, type BlobSource, hexId, needBlob } from "../../../wire/agent/state/blobs.ts";
import { rootIdsOf } from "../../../wire/agent/state/build-state.ts";
import { checkOtherIds, readTurns } from "../../../wire/agent/state/read-state.ts";
import { readSummary } from "../../../wire/agent/state/summary.ts";
import { readAsked } from "./parse.ts";

export interface Conversation {
  readonly messages: readonly Message[];
  /** Nothing was said since the conversation was summarized. */
  readonly isSummarized: boolean;
}

/** Reads the conversation of a state from its summary and its turns: root messages may be placeholders of Cursor's. */
export async function readConversation(state: ConversationStateStructure, blobs: BlobSource): Promise<Conversation> {
  checkOtherIds(state, blobs);
  const summary = await readSummary(state, blobs);
  const turns = await readTurns({ turns: [...(summary?.laterTurns ?? state.turns)] }, blobs, readAsked);
  const messages = turns.flatMap((turn) => {
    if (turn instanceof ExcursorError) throw turn;
    return turn;
  });
  return {
    messages: summary ? [summary.message, ...messages] : messages,
    isSummarized: summary?.laterTurns.length === 0,
  };
}

/** Says what to do about a blob that the client no longer has. */
export function explainLostBlob(thrown: unknown): ExcursorError {
  const error = ExcursorError.from(thrown);
  if (error.code !== BLOB_NOT_FOUND) return error;
  return error.with({ hint: "The client no longer has this part of the conversation. Start a new conversation." });
}

/** The turn that a run resumes, taken out of its state. */
export interface OpenTurn {
  /** The state without that turn. */
  readonly before: ConversationStateStructure;
  readonly asked: WireUserMessage | undefined;
  /** How each call of the turn is displayed, by its id. */
  readonly displays: ReadonlyMap<string, ToolCall>;
}

/** Takes the last turn out of a state, so that the run can write it again with what happens from now on. */
export async function openLastTurn(state: ConversationStateStructure, blobs: BlobSource): Promise<OpenTurn> {
  const id = state.turns.at(-1);
  const none: OpenTurn = { before: state, asked: undefined, displays: new Map() };
  if (!id) return none;
  const need = (blobId: Uint8Array) => needBlob(blobId, "conversation_state.turns", blobs);
  const { turn } = fromBinary(ConversationTurnStructureSchema, await need(id));
  if (turn.case !== "agentConversationTurn") return none;
  const { userMessage, steps } = turn.value;
  const displays = new Map<string, ToolCall>();
  for (const step of await Promise.all(steps.map(need))) {
    const { message } = fromBinary(ConversationStepSchema, step);
    if (message.case === "toolCall" && message.value.toolCallId) displays.set(message.value.toolCallId, message.value);
  }
  const own = new Set(rootIdsOf(turn.value).map(hexId));
  return {
    before: {
      ...state,
      turns: state.turns.slice(0, -1),
      rootPromptMessagesJson: state.rootPromptMessagesJson.filter((root) => !own.has(hexId(root))),
    },
    asked: userMessage.length > 0 ? fromBinary(UserMessageSchema, await need(userMessage)) : undefined,
    displays,
  };
}

export const readTodos = ({ todos }: ConversationStateStructure, blobs: BlobSource): Promise<readonly TodoItem[]> =>
  Promise.all(
    todos.map(async (id) => fromBinary(TodoItemSchema, await needBlob(id, "conversation_state.todos", blobs))),
  );
