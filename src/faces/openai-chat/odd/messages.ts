import { isJsonObject } from "../../../core/json/is-json-object.ts";
import { type Fields, isOfType, listOf } from "./fields.ts";

/**
 * Converts Anthropic's blocks and Responses items inside messages to this dialect: calls and results stand beside the
 * content, images behind a URL. Everything else stays unchanged.
 */
export const normaliseMessages = (messages: unknown): unknown =>
  Array.isArray(messages) && !messages.every(isPlain) ? messages.flatMap(normaliseMessage) : messages;

/** True for plain text, the common case. */
const isPlain = (message: unknown): boolean =>
  isJsonObject(message) && typeof message["content"] === "string" && message["tool_calls"] === undefined;

function normaliseMessage(message: unknown): unknown[] {
  if (!isJsonObject(message)) return [message];
  const normalised = message["role"] === "assistant" ? { ...message, ...normaliseCalls(message) } : message;
  const { content } = normalised as Fields;
  if (!Array.isArray(content)) return [normalised];
  if (message["role"] === "assistant") return [normaliseAssistant(normalised, content)];
  const results = content.filter((part) => isOfType(part, "tool_result"));
  const shown = content.filter((part) => !isOfType(part, "tool_result")).map(normalisePart);
  if (results.length === 0) return [{ ...normalised, content: shown }];
  return [...results.map(resultMessage), ...(shown.length > 0 ? [{ ...normalised, content: shown }] : [])];
}

function normaliseAssistant(message: Fields, content: readonly unknown[]): Fields {
  const calls = content.filter((part) => isOfType(part, "tool_use")).map(callOf);
  const thinking = content.filter((part) => isOfType(part, "thinking"));
  const said = content.filter((part) => !isOfType(part, "tool_use", "thinking", "redacted_thinking"));
  return {
    ...message,
    content: said.length === 0 ? null : said.map(normalisePart),
    ...(thinking.length > 0 && { thinking_blocks: thinking }),
    ...(calls.length > 0 && { tool_calls: [...listOf(message["tool_calls"]), ...calls] }),
  };
}

function normaliseCalls({ tool_calls: calls }: Fields): Fields {
  if (!Array.isArray(calls)) return {};
  return {
    tool_calls: calls.map((call) => {
      if (!isOfType(call, "custom") || !isJsonObject(call["custom"])) return call;
      const { name, input } = call["custom"];
      return { id: call["id"], type: "function", function: { name, arguments: JSON.stringify({ input }) } };
    }),
  };
}

const callOf = ({ id, name, input }: Fields): Fields => ({
  id,
  type: "function",
  function: { name, arguments: typeof input === "string" ? input : JSON.stringify(input ?? {}) },
});

const resultMessage = ({ tool_use_id, content, is_error }: Fields): Fields => ({
  role: "tool",
  tool_call_id: tool_use_id,
  is_error,
  content: Array.isArray(content) ? content.map(normalisePart) : content,
});

function normalisePart(part: unknown): unknown {
  if (isOfType(part, "input_text", "output_text")) return { type: "text", text: part["text"] };
  if (isOfType(part, "input_image")) return { type: "image_url", image_url: part["image_url"] };
  if (!isOfType(part, "image") || !isJsonObject(part["source"])) return part;
  const { type, media_type, data, url } = part["source"];
  if (type !== "base64") return { type: "image_url", image_url: { url } };
  if (typeof media_type !== "string" || typeof data !== "string") return part;
  return { type: "image_url", image_url: { url: `data:${media_type};base64,${data}` } };
}
