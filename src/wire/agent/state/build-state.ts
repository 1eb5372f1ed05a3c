import type { DescField } from "@bufbuild/protobuf";
import { type AssistantMessage, type Message, resultsByCall, type ToolMessage } from "../../../core/turn.ts";
import {
  type AgentConversationTurnStructure,
  AgentConversationTurnStructureSchema,
  ConversationStateStructureSchema,
  ConversationTurnStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import { AssistantMessageSchema, ConversationStepSchema } from "../../../gen/agent/v1/tool_call_pb.ts";
import { bytesField, encodeFields, messageField, textField } from "../encode-fields.ts";
import type { AddBlob, Blobs } from "./blobs.ts";
import { rootMessages } from "./root-messages.ts";
import { encodeToolStep } from "./tool-step.ts";
import { userMessageFields } from "./user-message.ts";

/**
 * Encodes a conversation as the `ConversationStateStructure` of a run: the root messages that the model reads, and the
 * same as turns. The caller ensures that each tool call is directly followed by its result.
 */
export function stateFromHistory(messages: readonly Message[], blobs: Blobs): Uint8Array {
  const { rootPromptMessagesJson, turns } = ConversationStateStructureSchema.field;
  return encodeFields(
    ...rootMessages(messages).map((root) => bytesField(rootPromptMessagesJson, blobs.add(JSON.stringify(root)))),
    ...turnsOf(messages, ({ role }) => role === "user").map((turn) => bytesField(turns, storeTurn(turn, blobs))),
  );
}

/** Splits messages before each one that begins a turn. */
export function turnsOf<M>(messages: readonly M[], beginsTurn: (message: M) => boolean): readonly (readonly M[])[] {
  const turns: M[][] = [];
  for (const message of messages) {
    if (beginsTurn(message) || turns.length === 0) turns.push([]);
    turns.at(-1)?.push(message);
  }
  return turns;
}

function storeTurn(messages: readonly Message[], blobs: Blobs): Uint8Array {
  const [first] = messages;
  const results = resultsByCall(messages);
  return addTurn(
    {
      userMessage: first?.role === "user" ? encodeFields(...userMessageFields(first)) : undefined,
      steps: messages.flatMap((message) => (message.role === "assistant" ? encodeSteps(message, results) : [])),
    },
    (content) => blobs.add(content),
  );
}

/** One turn: a serialized `UserMessage`, and the serialized `ConversationStep`s that follow it. */
interface TurnParts {
  readonly userMessage: Uint8Array | undefined;
  readonly steps: readonly Uint8Array[];
  readonly requestId?: string;
  /** Ids of the root messages of this turn, to be read back by {@link rootIdsOf}. */
  readonly roots?: readonly Uint8Array[];
}

/** A field of our own in `AgentConversationTurnStructure`. Clients keep turns as opaque blobs, so it survives. */
const ROOT_IDS = { number: 1000 } as DescField;

/** Returns the ids of the root messages that a turn names; none if another backend wrote it. */
export const rootIdsOf = ({ $unknown = [] }: AgentConversationTurnStructure): readonly Uint8Array[] =>
  // The data of an unknown field begins with its length, which is one byte for an id.
  $unknown.filter(({ no, data }) => no === ROOT_IDS.number && data.length === 33).map(({ data }) => data.subarray(1));

/** Adds the blobs of one turn, and returns the id of the turn itself. */
export function addTurn({ userMessage, steps, requestId, roots = [] }: TurnParts, add: AddBlob): Uint8Array {
  const { field } = AgentConversationTurnStructureSchema;
  const turn = messageField(
    ConversationTurnStructureSchema.field.agentConversationTurn,
    ...(userMessage ? [bytesField(field.userMessage, add(userMessage))] : []),
    ...steps.map((step) => bytesField(field.steps, add(step))),
    ...(requestId === undefined ? [] : [textField(field.requestId, requestId)]),
    ...roots.map((root) => bytesField(ROOT_IDS, root)),
  );
  return add(encodeFields(turn));
}

/** Serializes each part of a message as a `ConversationStep`. Thinking is left out, as in the root messages. */
function encodeSteps({ content }: AssistantMessage, results: ReadonlyMap<string, ToolMessage>): Uint8Array[] {
  return content.flatMap((part) => {
    if (part.type === "text" && part.text !== "") return [encodeTextStep(part.text)];
    return part.type === "tool-call" ? [encodeToolStep(part, results.get(part.id))] : [];
  });
}

const encodeTextStep = (text: string): Uint8Array => {
  const said = textField(AssistantMessageSchema.field.text, text);
  return encodeFields(messageField(ConversationStepSchema.field.assistantMessage, said));
};
