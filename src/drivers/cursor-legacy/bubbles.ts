import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type Message, resultsByCall, type ToolMessage, textOf } from "../../core/turn.ts";
import {
  type ConversationMessage,
  ConversationMessageSchema,
  MessageType,
} from "../../gen/aiserver/v1/conversation_pb.ts";

/** Converts the conversation to chat bubbles. Images become Markdown, since the protocol has no field for them. */
export function bubblesOf(messages: readonly Message[]): ConversationMessage[] {
  const results = resultsByCall(messages);
  return messages.flatMap((message) => {
    // Results are part of their calls.
    if (message.role === "tool") return [];
    if (message.role === "user") return [bubble(MessageType.HUMAN, { text: message.content.map(partText).join("") })];
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part] : []));
    const toolResults = calls.map(({ id, name, args }, toolIndex) => {
      const result = results.get(id);
      const content = result ? toolText(result) : "The result was not provided.";
      return { toolCallId: id, toolName: name, toolIndex, rawArgs: JSON.stringify(args), content };
    });
    return [bubble(MessageType.AI, { text: textOf(message.content), toolResults })];
  });
}

const bubble = (type: MessageType, more: { text: string; toolResults?: object[] }): ConversationMessage =>
  create(ConversationMessageSchema, { type, bubbleId: randomUUID(), ...more });

export const toolText = ({ content }: ToolMessage): string => content.map(partText).join("\n");

function partText(part: Message["content"][number]): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "image":
      return `\n![image](data:${part.mediaType};base64,${Buffer.from(part.data).toString("base64")})\n`;
    case "file":
      return `\n${part.name}:\n\`\`\`\n${part.text}\n\`\`\`\n`;
    default:
      return "";
  }
}
