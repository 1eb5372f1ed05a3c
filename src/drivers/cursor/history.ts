import { create, fromJson, toBinary, type JsonObject as WireJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type AssistantMessage, type JsonObject, type Message, type ToolMessage, textOf } from "../../core/turn.ts";
import {
  type ConversationStateStructure,
  ConversationStateStructureSchema,
  ConversationTurnStructureSchema,
} from "../../gen/agent/v1/conversation_pb.ts";
import { type ConversationStep, ConversationStepSchema } from "../../gen/agent/v1/tool_call_pb.ts";
import { UserMessageSchema } from "../../gen/agent/v1/user_message_pb.ts";
import type { Blobs } from "./blobs.ts";
import { PROVIDER, wireToolResult } from "./tools.ts";
import { wireUserMessage } from "./user-message.ts";

/** The backend refuses more entries than about two hundred. */
const MAX_ROOTS = 192;

/**
 * A conversation of the client's as the state that a run begins from: the prompt entries that the model reads, and
 * the turns beside them. Every call has its result; one that the client left out says so.
 */
export function stateFromHistory(messages: readonly Message[], blobs: Blobs): ConversationStateStructure {
  const complete = withAllResults(messages);
  return create(ConversationStateStructureSchema, {
    rootPromptMessagesJson: foldOldest(complete.flatMap(rootsOf)).map((root) => blobs.add(JSON.stringify(root))),
    turns: turnsOf(complete).map((turn) => storeTurn(turn, blobs)),
  });
}

/** Puts an error result where the transcript has a call without one: a prompt with an open call is refused. */
function withAllResults(messages: readonly Message[]): readonly Message[] {
  const answered = new Set(messages.flatMap((message) => (message.role === "tool" ? [message.callId] : [])));
  return messages.flatMap((message): Message[] => {
    if (message.role !== "assistant") return [message];
    const open = message.content.flatMap((part) => (part.type === "tool-call" && !answered.has(part.id) ? [part] : []));
    const missing = open.map(
      ({ id }): ToolMessage => ({
        role: "tool",
        callId: id,
        content: [{ type: "text", text: "The result was not provided." }],
        isError: true,
      }),
    );
    return [message, ...missing];
  });
}

function rootsOf(message: Message): JsonObject[] {
  switch (message.role) {
    case "user": {
      const images = message.content.flatMap((part) => {
        if (part.type !== "image") return [];
        const data = Buffer.from(part.data).toString("base64");
        return [{ type: "image", image: `data:${part.mediaType};base64,${data}`, mediaType: part.mediaType }];
      });
      const files = message.content.flatMap((part) =>
        part.type === "file"
          ? [{ type: "text", text: `<file name=${JSON.stringify(part.name)}>\n${part.text}\n</file>` }]
          : [],
      );
      const text = { type: "text", text: `<user_query>\n${textOf(message.content)}\n</user_query>` };
      return [{ role: "user", content: [...files, text, ...images] }];
    }
    case "assistant": {
      // Reasoning stays out: the upstream accepts only its own, with its signature.
      const content = message.content.flatMap((part): JsonObject[] => {
        if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }];
        if (part.type !== "tool-call") return [];
        return [{ type: "tool-call", toolCallId: part.id, toolName: part.name, args: part.args }];
      });
      return [{ role: "assistant", content }];
    }
    case "tool": {
      const result = { type: "tool-result", toolCallId: message.callId, toolName: "", result: toolText(message) };
      return [{ role: "tool", id: message.callId, content: [message.isError ? { ...result, isError: true } : result] }];
    }
  }
}

const toolText = ({ content }: ToolMessage): string =>
  content.map((part) => (part.type === "text" ? part.text : `[image ${part.mediaType}]`)).join("\n");

/** Folds the oldest entries into one text, so that as many as the backend takes remain; never a result without its call. */
function foldOldest(roots: readonly JsonObject[]): readonly JsonObject[] {
  if (roots.length <= MAX_ROOTS) return roots;
  let cut = roots.length - MAX_ROOTS + 1;
  while (cut < roots.length && roots[cut]?.["role"] !== "user") cut++;
  const lines = roots.slice(0, cut).map(({ role, content }) => `${String(role)}: ${JSON.stringify(content)}`);
  const text = `<earlier_conversation>\n${lines.join("\n")}\n</earlier_conversation>`;
  return [{ role: "user", content: [{ type: "text", text }] }, ...roots.slice(cut)];
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
  const userMessage =
    first?.role === "user" ? { userMessage: blobs.add(toBinary(UserMessageSchema, wireUserMessage(first))) } : {};
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
        name: `${PROVIDER}-${name}`,
        toolName: name,
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
