import { redactedData } from "../../core/redacted-thinking.ts";
import type {
  AssistantPart,
  FilePart,
  ImagePart,
  JsonObject,
  Message,
  TextPart,
  ThinkingPart,
  ToolMessage,
} from "../../core/turn.ts";
import { pairResults } from "../cursor/pair-results.ts";
import { wireToolName } from "../cursor/tool-names.ts";

/** The conversation in Anthropic's words. Thinking goes back only with the signature that came with it. */
export function apiMessages(messages: readonly Message[], keepsThinking: boolean): readonly JsonObject[] {
  const told: { readonly role: "user" | "assistant"; readonly content: JsonObject[] }[] = [];
  for (const message of pairResults(messages)) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(message, keepsThinking);
    const last = told.at(-1);
    // Results belong into one message, and an empty one is refused.
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) told.push({ role, content });
  }
  return told;
}

function blocksOf(message: Message, keepsThinking: boolean): JsonObject[] {
  if (message.role === "tool") return [resultBlock(message)];
  const parts: readonly (AssistantPart | TextPart | ImagePart | FilePart)[] = message.content;
  return parts.flatMap((part) => {
    switch (part.type) {
      case "text":
        return part.text.trim() === "" ? [] : [{ type: "text", text: part.text }];
      case "image":
        return [imageBlock(part)];
      case "file":
        return [
          { type: "document", title: part.name, source: { type: "text", media_type: "text/plain", data: part.text } },
        ];
      case "thinking":
        return keepsThinking ? thinkingBlocks(part) : [];
      case "tool-call":
        return [{ type: "tool_use", id: wireId(part.id), name: wireToolName(part.name), input: part.args }];
      default:
        return part satisfies never;
    }
  });
}

function thinkingBlocks({ text, signature }: ThinkingPart): JsonObject[] {
  if (signature === undefined) return [];
  const data = redactedData(signature);
  return [data === undefined ? { type: "thinking", thinking: text, signature } : { type: "redacted_thinking", data }];
}

const resultBlock = ({ callId, content, isError }: ToolMessage): JsonObject => ({
  type: "tool_result",
  tool_use_id: wireId(callId),
  content: content.flatMap((part): JsonObject[] => {
    if (part.type === "image") return [imageBlock(part)];
    return part.text === "" ? [] : [{ type: "text", text: part.text }];
  }),
  ...(isError && { is_error: true }),
});

const imageBlock = ({ mediaType, data }: ImagePart): JsonObject => ({
  type: "image",
  source: { type: "base64", media_type: mediaType, data: Buffer.from(data).toString("base64") },
});

/** Calls of other upstreams may have any id; here only these characters are taken. */
const wireId = (id: string): string => id.replace(/[^\w-]/g, "_");
