import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Call, Image, Message, Result } from "../script/conversation.ts";
import { describeImage } from "./image.ts";

/**
 * One entry of `root_prompt_messages_json`: a chat message in JSON. Undefined if it is none that we can read; the
 * forms are those that real clients and the backend itself write.
 */
export function parseRootMessage(bytes: Uint8Array): Message | undefined {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined;
  }
  if (!isObject(json)) return undefined;
  const { role, content } = json;
  const parts = partsOf(content);
  switch (role) {
    case "system":
    case "developer":
      return { role: "system", text: textOf(parts) };
    case "user":
      return { role: "user", text: unwrapUserQuery(textOf(parts)), images: parts.flatMap(imageOf) };
    case "assistant":
      return { role: "assistant", text: textOf(parts), calls: parts.flatMap(callOf) };
    case "tool":
      return { role: "tool", results: parts.flatMap(resultOf) };
    default:
      return undefined;
  }
}

/** The backend wraps what the user typed; whoever reads history back sees through it. */
export function unwrapUserQuery(text: string): string {
  return /^\s*<user_query>\n?(.*?)\n?<\/user_query>\s*$/s.exec(text)?.[1] ?? text;
}

export const userRoot = (text: string): JsonObject => ({
  role: "user",
  content: [{ type: "text", text: `<user_query>\n${text}\n</user_query>` }],
});

export const assistantRoot = (content: JsonObject[]): JsonObject => ({ role: "assistant", content });

export const toolRoot = (callId: string, name: string, text: string, isError: boolean): JsonObject => ({
  role: "tool",
  id: callId,
  content: [
    { type: "tool-result", toolCallId: callId, toolName: name, result: text, ...(isError ? { isError: true } : {}) },
  ],
});

/** A message of the history as an entry, for clients that brought theirs in another structure. */
export function rootsOf(message: Message): JsonObject[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.text }];
    case "user":
      return [userRoot(message.text)];
    case "assistant": {
      const text = message.text === "" ? [] : [{ type: "text", text: message.text }];
      const calls = message.calls.map(({ id, name, args }) => ({
        type: "tool-call",
        toolCallId: id || name,
        toolName: name,
        args,
      }));
      return [assistantRoot([...text, ...calls])];
    }
    case "tool":
      return message.results.map(({ callId, text }) => toolRoot(callId, "", text, false));
  }
}

type Part = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Part =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function partsOf(content: unknown): readonly Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isObject) : [];
}

const textOf = (parts: readonly Part[]): string =>
  parts.map(({ type, text }) => (type === "text" && typeof text === "string" ? text : "")).join("");

function imageOf({ type, image, mediaType }: Part): Image[] {
  if (type !== "image" || typeof image !== "string") return [];
  const [, declared, base64 = image] = /^data:([^;,]*)[^,]*,(.*)$/s.exec(image) ?? [];
  const bytes = Buffer.from(base64, "base64");
  return [describeImage(bytes, typeof mediaType === "string" ? mediaType : (declared ?? ""))];
}

function callOf({ type, toolCallId, toolName, args, input }: Part): Call[] {
  if (type !== "tool-call" || typeof toolName !== "string") return [];
  const given = args ?? input ?? {};
  return [{ id: idOf(toolCallId), name: toolName, args: (isObject(given) ? given : {}) as JsonObject }];
}

function resultOf({ type, toolCallId, result, output }: Part): Result[] {
  if (type !== "tool-result") return [];
  return [{ callId: idOf(toolCallId), text: resultText((result ?? output ?? "") as JsonValue) }];
}

const idOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** A result is text, parts of text, `{type, value}`, or any JSON. */
function resultText(result: JsonValue): string {
  if (typeof result === "string") return result;
  if (Array.isArray(result) && result.every(isObject)) return textOf(result as readonly Part[]);
  if (isObject(result) && "value" in result) return resultText((result["value"] ?? "") as JsonValue);
  return JSON.stringify(result);
}
