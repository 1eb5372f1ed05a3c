import type { AssistantMessage, Message, ToolMessage } from "../../../core/turn.ts";
import {
  AgentConversationTurnStructureSchema,
  ConversationStateStructureSchema,
  ConversationTurnStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import { AssistantMessageSchema, ConversationStepSchema } from "../../../gen/agent/v1/tool_call_pb.ts";
import { pairResults } from "../../shared/pair-results.ts";
import type { Blobs } from "./blobs.ts";
import { bytesField, encodeFields, messageField, textField } from "./encode-fields.ts";
import { rootMessages } from "./root-messages.ts";
import { encodeToolStep } from "./tool-step.ts";
import { userMessageFields } from "./user-message.ts";

/**
 * A conversation of the client's as the serialized state that a run begins from: the prompt entries that the model reads, and
 * the turns beside them. Every call has its result; one that the client left out says so.
 */
export function stateFromHistory(messages: readonly Message[], blobs: Blobs): Uint8Array {
  const { rootPromptMessagesJson, turns } = ConversationStateStructureSchema.field;
  const complete = pairResults(messages);
  return encodeFields(
    ...rootMessages(complete).map((root) => bytesField(rootPromptMessagesJson, blobs.add(JSON.stringify(root)))),
    ...turnsOf(complete).map((turn) => bytesField(turns, storeTurn(turn, blobs))),
  );
}

/** The messages cut before each user message. */
function turnsOf(messages: readonly Message[]): readonly Message[][] {
  const turns: Message[][] = [];
  for (const message of messages) {
    if (message.role === "user" || turns.length === 0) turns.push([]);
    turns.at(-1)?.push(message);
  }
  return turns;
}

function storeTurn(messages: readonly Message[], blobs: Blobs): Uint8Array {
  const { userMessage, steps } = AgentConversationTurnStructureSchema.field;
  const [first] = messages;
  const asked =
    first?.role === "user" ? [bytesField(userMessage, blobs.add(encodeFields(...userMessageFields(first))))] : [];
  const results = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.callId, message] as const] : [])),
  );
  const done = messages.flatMap((message) => (message.role === "assistant" ? encodeSteps(message, results) : []));
  const turn = [...asked, ...done.map((step) => bytesField(steps, blobs.add(step)))];
  return blobs.add(encodeFields(messageField(ConversationTurnStructureSchema.field.agentConversationTurn, ...turn)));
}

/** Each a serialized `ConversationStep`. */
function encodeSteps({ content }: AssistantMessage, results: ReadonlyMap<string, ToolMessage>): Uint8Array[] {
  return content.flatMap((part) => {
    if (part.type === "text" && part.text !== "") {
      const said = textField(AssistantMessageSchema.field.text, part.text);
      return [encodeFields(messageField(ConversationStepSchema.field.assistantMessage, said))];
    }
    return part.type === "tool-call" ? [encodeToolStep(part, results.get(part.id))] : [];
  });
}
