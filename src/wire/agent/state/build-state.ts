import type { AssistantMessage, Message, ToolMessage } from "../../../core/turn.ts";
import {
  AgentConversationTurnStructureSchema,
  ConversationStateStructureSchema,
  ConversationTurnStructureSchema,
} from "../../../gen/agent/v1/conversation_pb.ts";
import { AssistantMessageSchema, ConversationStepSchema } from "../../../gen/agent/v1/tool_call_pb.ts";
import { bytesField, encodeFields, messageField, textField } from "../encode-fields.ts";
import type { Blobs } from "./blobs.ts";
import { rootMessages } from "./root-messages.ts";
import { encodeToolStep } from "./tool-step.ts";
import { userMessageFields } from "./user-message.ts";

/**
 * Encodes a conversation as the `ConversationStateStructure` that a run starts from: the root messages that the model
 * reads, and the same as turns. The caller makes sure that each tool call is directly followed by its result.
 */
export function stateFromHistory(messages: readonly Message[], blobs: Blobs): Uint8Array {
  const { rootPromptMessagesJson, turns } = ConversationStateStructureSchema.field;
  return encodeFields(
    ...rootMessages(messages).map((root) => bytesField(rootPromptMessagesJson, blobs.add(JSON.stringify(root)))),
    ...turnsOf(messages).map((turn) => bytesField(turns, storeTurn(turn, blobs))),
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
