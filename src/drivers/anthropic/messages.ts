import { spellToolName } from "../../core/spell-tool-name.ts";
import { redactedData } from "../../core/thinking/redacted-thinking.ts";
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
import { emptyQuestion } from "../shared/empty-question.ts";
import { pairResults } from "../shared/pair-results.ts";

/**
 * Converts the conversation. Thinking is included only with its signature. Empty messages are left out, since the API
 * refuses them. A user message is put first if the model's comes first.
 */
export function apiMessages(messages: readonly Message[], keepsThinking: boolean): readonly JsonObject[] {
  const sent: { readonly role: "user" | "assistant"; readonly content: JsonObject[] }[] = [];
  for (const message of pairResults(messages)) {
    const role = message.role === "assistant" ? "assistant" : "user";
    const content = blocksOf(message, keepsThinking);
    const last = sent.at(-1);
    // The results of one answer must be in one message.
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) sent.push({ role, content });
  }
  if (sent.at(-1)?.role !== "user") throw emptyQuestion();
  return sent[0]?.role === "user" ? sent : [{ role: "user", content: [text("(no message)")] }, ...sent];
}

function blocksOf(message: Message, keepsThinking: boolean): JsonObject[] {
  if (message.role === "tool") return [resultBlock(message)];
  const parts: readonly (AssistantPart | TextPart | ImagePart | FilePart)[] = message.content;
  return parts.flatMap((part) => {
    switch (part.type) {
      case "text":
        return textBlocks(part.text);
      case "image":
        return [imageBlock(part)];
      case "file":
        return [fileBlock(part)];
      case "thinking":
        return keepsThinking ? thinkingBlocks(part) : [];
      case "tool-call":
        return [{ type: "tool_use", id: wireId(part.id), name: spellToolName(part.name), input: part.args }];
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
    return textBlocks(part.text);
  }),
  ...(isError && { is_error: true }),
});

const text = (value: string): JsonObject => ({ type: "text", text: value });

const textBlocks = (value: string): JsonObject[] => (value.trim() === "" ? [] : [text(value)]);

const fileBlock = ({ name, text: data }: FilePart): JsonObject =>
  data.trim() === ""
    ? text(`The file ${name} is empty.`)
    : { type: "document", title: name, source: { type: "text", media_type: "text/plain", data } };

const imageBlock = ({ mediaType, data }: ImagePart): JsonObject => ({
  type: "image",
  source: { type: "base64", media_type: mediaType, data: Buffer.from(data).toString("base64") },
});

/** Replaces characters that the API does not accept in ids. Calls of other upstreams may have any id. */
const wireId = (id: string): string => id.replace(/[^\w-]/g, "_");
