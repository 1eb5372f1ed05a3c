import { create, fromJson, toBinary, type JsonObject as WireJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { AssistantMessage, Message, ToolMessage } from "../../core/turn.ts";
import {
  ConversationStateStructureSchema,
  ConversationTurnStructureSchema,
} from "../../gen/agent/v1/conversation_pb.ts";
import { type ConversationStep, ConversationStepSchema } from "../../gen/agent/v1/tool_call_pb.ts";
import type { Blobs } from "./blobs.ts";
import { bytesField, joinFields } from "./encode-fields.ts";
import { pairResults } from "./pair-results.ts";
import { rootMessages } from "./root-messages.ts";
import { PROVIDER, qualifiedToolName, wireToolName } from "./tool-names.ts";
import { wireToolResult } from "./tools.ts";
import { encodeUserMessage } from "./user-message.ts";

/**
 * A conversation of the client's as the serialized state that a run begins from: the prompt entries that the model reads, and
 * the turns beside them. Every call has its result; one that the client left out says so.
 */
export function stateFromHistory(messages: readonly Message[], blobs: Blobs): Uint8Array {
  const { rootPromptMessagesJson, turns } = ConversationStateStructureSchema.field;
  const complete = pairResults(messages);
  return joinFields(
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
  const [first] = messages;
  const userMessage = first?.role === "user" ? { userMessage: blobs.add(encodeUserMessage(first)) } : {};
  const results = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.callId, message] as const] : [])),
  );
  const steps = messages.flatMap((message) => (message.role === "assistant" ? stepsOf(message, results) : []));
  const turn = create(ConversationTurnStructureSchema, {
    turn: {
      case: "agentConversationTurn",
      value: { ...userMessage, steps: steps.map((step) => blobs.add(toBinary(ConversationStepSchema, step))) },
    },
  });
  return blobs.add(toBinary(ConversationTurnStructureSchema, turn));
}

function stepsOf({ content }: AssistantMessage, results: ReadonlyMap<string, ToolMessage>): ConversationStep[] {
  return content.flatMap((part) => {
    if (part.type === "text" && part.text !== "") {
      return [create(ConversationStepSchema, { message: { case: "assistantMessage", value: { text: part.text } } })];
    }
    if (part.type !== "tool-call") return [];
    const { id, name, args } = part;
    const result = results.get(id);
    const success = result ? wireToolResult(result).result : undefined;
    const values = Object.entries(args).map(([key, value]) => [key, fromJson(ValueSchema, value as WireJson)]);
    const value = {
      args: {
        name: qualifiedToolName(name),
        toolName: wireToolName(name),
        providerIdentifier: PROVIDER,
        toolCallId: id,
        args: Object.fromEntries(values),
      },
      ...(success?.case === "success"
        ? {
            result: {
              result: {
                case: "success" as const,
                value: { content: success.value.content, isError: success.value.isError },
              },
            },
          }
        : {}),
    };
    return [
      create(ConversationStepSchema, {
        message: { case: "toolCall", value: { toolCallId: id, tool: { case: "mcpToolCall", value } } },
      }),
    ];
  });
}
