import type { ContentBlock, SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import {
  type ImagePart,
  type Message,
  resultsByCall,
  type TextPart,
  type ToolMessage,
  type UserPart,
} from "../../core/turn.ts";

/** Serialises a conversation as JSON, with images in base64. */
export const formatMessages = (messages: readonly Message[]): string =>
  JSON.stringify(messages, function (this: Readonly<Record<string, unknown>>, key, value: unknown) {
    const plain = this[key];
    return plain instanceof Uint8Array ? Buffer.from(plain).toString("base64") : value;
  });

/** Parses what {@link formatMessages} wrote. Returns undefined if the text is damaged. */
export function parseMessages(text: string): readonly Message[] | undefined {
  try {
    return (JSON.parse(text) as readonly Message[]).map((message) => ({
      ...message,
      content: message.content.map((part) =>
        part.type === "image" ? { ...part, data: Buffer.from(String(part.data), "base64") } : part,
      ),
    })) as readonly Message[];
  } catch {
    return undefined;
  }
}

/** Returns the title of a conversation for lists: the beginning of its first text. */
export function titleOf(messages: readonly Message[]): string {
  const first = messages.find(({ role }) => role === "user")?.content.find(({ type }) => type === "text");
  const text = first && "text" in first ? first.text : "";
  return text.replace(/\s+/g, " ").trim().slice(0, 80);
}

/** Returns the updates that show a whole conversation to an editor. */
export function* replay(messages: readonly Message[]): Generator<SessionUpdate, void, undefined> {
  const results = resultsByCall(messages);
  for (const message of messages) {
    if (message.role === "user") {
      for (const part of message.content) yield { sessionUpdate: "user_message_chunk", content: blockOf(part) };
    } else if (message.role === "assistant") {
      for (const part of message.content) {
        if (part.type === "text") yield { sessionUpdate: "agent_message_chunk", content: blockOf(part) };
        else if (part.type === "tool-call") {
          const result = results.get(part.id);
          yield {
            sessionUpdate: "tool_call",
            toolCallId: part.id,
            title: part.name,
            status: result && !result.isError ? "completed" : "failed",
            rawInput: part.args,
            content: result ? resultContent(result) : [],
          };
        }
      }
    }
  }
}

export const resultContent = ({ content }: Pick<ToolMessage, "content">): ToolCallContent[] =>
  content.map((part) => ({ type: "content", content: blockOf(part) }));

function blockOf(part: UserPart | TextPart | ImagePart): ContentBlock {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image", mimeType: part.mediaType, data: Buffer.from(part.data).toString("base64") };
    case "file":
      return { type: "resource", resource: { uri: part.name, text: part.text } };
    default:
      return part satisfies never;
  }
}
