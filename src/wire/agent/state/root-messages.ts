import { isJsonObject } from "../../../core/json/is-json-object.ts";
import { spellToolName } from "../../../core/spell-tool-name.ts";
import {
  type AssistantPart,
  type ImagePart,
  type JsonObject,
  type JsonValue,
  type Message,
  type TextPart,
  type ToolMessage,
  textOf,
} from "../../../core/turn.ts";
import { imageTypeOf } from "./media-type.ts";

/** A message in a state. States may hold instructions among the messages. */
export type HistoryMessage = Message | { readonly role: "system"; readonly text: string };

/** The backend refuses more than about two hundred entries. */
const MAX_ROOTS = 192;

/**
 * Encodes a conversation as the entries of `root_prompt_messages_json`, which the model reads. Each call must be
 * followed by its result. Thinking is left out: the backend accepts only its own, with its signature.
 */
export function rootMessages(messages: readonly Message[]): readonly JsonObject[] {
  const roots: JsonObject[] = [];
  const names = new Map<string, string>();
  // Results cannot hold images, so they follow as a user message.
  let shown: JsonObject[] = [];
  const flush = () => {
    if (shown.length > 0) roots.push({ role: "user", content: [SHOWN_BY_TOOL, ...shown] });
    shown = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") flush();
    switch (message.role) {
      case "user":
        roots.push(rootOf(message));
        break;
      case "assistant": {
        const content = message.content.filter(({ type }) => type !== "thinking").map(withSpeltName);
        for (const part of content) if (part.type === "tool-call") names.set(part.id, part.name);
        const parts = content.flatMap(assistantPart);
        if (parts.length > 0) roots.push({ role: "assistant", content: parts });
        break;
      }
      case "tool":
        roots.push(rootOf(message, names.get(message.callId)));
        shown.push(...imageParts(message.content));
        break;
    }
  }
  flush();
  return foldOldest(roots);
}

const SHOWN_BY_TOOL: JsonObject = { type: "text", text: "These images belong to the tool results above." };

const withSpeltName = (part: AssistantPart): AssistantPart =>
  part.type === "tool-call" ? { ...part, name: spellToolName(part.name) } : part;

/** Encodes one message as one entry, with names and thinking unchanged. */
export function rootOf(message: HistoryMessage, toolName = ""): JsonObject {
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "user":
      return userRoot(message.content);
    case "assistant":
      return { role: "assistant", content: message.content.flatMap(assistantPart) };
    case "tool":
      return toolRoot(message, toolName);
  }
}

type AnyPart = Message["content"][number];

function userRoot(content: readonly AnyPart[]): JsonObject {
  const files = content.flatMap((part) =>
    part.type === "file"
      ? [{ type: "text", text: `<file name=${JSON.stringify(part.name)}>\n${part.text}\n</file>` }]
      : [],
  );
  const text = { type: "text", text: `<user_query>\n${textOf(content)}\n</user_query>` };
  return { role: "user", content: [...files, text, ...imageParts(content)] };
}

function assistantPart(part: AssistantPart): JsonObject[] {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "text", text: part.text }];
    case "thinking":
      return [{ type: "reasoning", text: part.text, ...(part.signature && { signature: part.signature }) }];
    case "tool-call":
      return [{ type: "tool-call", toolCallId: part.id || part.name, toolName: part.name, args: part.args }];
  }
}

function toolRoot({ callId, content, isError }: ToolMessage, toolName: string): JsonObject {
  const text = content.map((part) => (part.type === "text" ? part.text : `[image ${part.mediaType}]`)).join("\n");
  const result = { type: "tool-result", toolCallId: callId, toolName, result: text };
  return { role: "tool", id: callId, content: [isError ? { ...result, isError: true } : result] };
}

const imageParts = (content: readonly AnyPart[]): JsonObject[] =>
  content.flatMap((part) => {
    if (part.type !== "image") return [];
    const data = Buffer.from(part.data).toString("base64");
    return [{ type: "image", image: `data:${part.mediaType};base64,${data}`, mediaType: part.mediaType }];
  });

/**
 * Folds the oldest entries into one text, so that the backend's limit is kept. A result is never separated from its
 * call, and the user's last message stays an entry of its own.
 */
function foldOldest(roots: readonly JsonObject[]): readonly JsonObject[] {
  if (roots.length <= MAX_ROOTS) return roots;
  let cut = roots.length - MAX_ROOTS + 2;
  while (cut < roots.length && roots[cut]?.["role"] === "tool") cut++;
  const lastAsked = roots.findLastIndex(({ role }) => role === "user");
  const kept = lastAsked >= 0 && lastAsked < cut ? roots.slice(lastAsked, lastAsked + 1) : [];
  const lines = roots
    .slice(0, cut)
    .map(({ role, content }) => `${String(role)}: ${JSON.stringify(content, withoutImages)}`);
  const text = `<earlier_conversation>\n${lines.join("\n")}\n</earlier_conversation>`;
  return [{ role: "user", content: [{ type: "text", text }] }, ...kept, ...roots.slice(cut)];
}

const withoutImages = (key: string, value: unknown): unknown =>
  key === "image" && typeof value === "string" ? "[image]" : value;

/**
 * Parses one entry in any form that clients and the backend write. Returns undefined if it is not a message, and
 * several messages if it holds several results.
 */
export function parseRoot(bytes: Uint8Array): readonly HistoryMessage[] | undefined {
  const json = parseObject(Buffer.from(bytes).toString("utf8"));
  if (!json) return undefined;
  const { role, content } = json;
  const parts = partsOf(content);
  switch (role) {
    case "system":
    case "developer":
      return [{ role: "system", text: joinTexts(parts) }];
    case "user":
      return [{ role, content: [textPart(unwrapUserQuery(joinTexts(parts))), ...parts.flatMap(readImage)] }];
    case "assistant":
      return [{ role, content: parts.flatMap(readAssistantPart) }];
    case "tool":
      return parts.flatMap(readResult);
    default:
      return undefined;
  }
}

/** Removes the backend's tags around the user's text. */
export function unwrapUserQuery(text: string): string {
  return /^\s*<user_query>\n?(.*?)\n?<\/user_query>\s*$/s.exec(text)?.[1] ?? text;
}

type Part = Readonly<Record<string, unknown>>;

function parseObject(text: string): Part | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Parses the arguments of a call. Anything but a JSON object counts as empty. */
export const parseArgs = (json: string): JsonObject => (parseObject(json) ?? {}) as JsonObject;

function partsOf(content: unknown): readonly Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isJsonObject) : [];
}

const textPart = (text: string): TextPart => ({ type: "text", text });

const joinTexts = (parts: readonly Part[]): string =>
  parts.map(({ type, text }) => (type === "text" ? textOr(text) : "")).join("");

const textOr = (value: unknown): string => (typeof value === "string" ? value : "");

function readImage({ type, image, mediaType }: Part): ImagePart[] {
  if (type !== "image" || typeof image !== "string") return [];
  const comma = image.startsWith("data:") ? image.indexOf(",") : -1;
  const [declared = ""] = image.slice("data:".length, Math.max(comma, "data:".length)).split(";", 1);
  const base64 = image.slice(comma + 1);
  const data = Buffer.from(base64, "base64");
  return [{ type, data, mediaType: imageTypeOf(data, textOr(mediaType) || declared) }];
}

function readAssistantPart({ type, text, signature, toolCallId, toolName, args, input }: Part): AssistantPart[] {
  if (type === "text" && typeof text === "string") return [textPart(text)];
  if (type === "reasoning" && typeof text === "string") {
    return [{ type: "thinking", text, signature: typeof signature === "string" ? signature : undefined }];
  }
  if (type !== "tool-call" || typeof toolName !== "string") return [];
  const given = args ?? input;
  return [{ type, id: textOr(toolCallId), name: toolName, args: (isJsonObject(given) ? given : {}) as JsonObject }];
}

function readResult({ type, toolCallId, result, output, isError }: Part): ToolMessage[] {
  if (type !== "tool-result") return [];
  const text = resultText((result ?? output ?? "") as JsonValue);
  return [{ role: "tool", callId: textOr(toolCallId), content: [textPart(text)], isError: isError === true }];
}

/** A result is text, a list of text parts, `{type, value}`, or any JSON. */
function resultText(result: JsonValue): string {
  if (typeof result === "string") return result;
  if (Array.isArray(result) && result.every(isJsonObject)) return joinTexts(result as readonly Part[]);
  if (isJsonObject(result) && "value" in result) return resultText((result["value"] ?? "") as JsonValue);
  return JSON.stringify(result);
}
