import type { CapturedMessage } from "../../src/dashboard/captured-messages.ts";
import { asObject, asText, type Json, listOf } from "../json.ts";
import { DIALECTS } from "../playground/dialects.ts";

/** A part of a message: a text, a picture, or something else as JSON. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  /** A data URL of a picture that a browser shows without running anything. */
  | { readonly type: "image"; readonly url: string }
  | { readonly type: "data"; readonly title: string; readonly text: string };

/** One message of a conversation, whatever API it was sent in. */
export interface Said {
  readonly role: string;
  readonly parts: readonly Part[];
}

/** Members of a request's body that hold messages. */
const MESSAGES: ReadonlySet<string> = new Set([
  "messages",
  "input",
  "contents",
  "system",
  "instructions",
  "systemInstruction",
]);

const SAFE_IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/=]+$/;

/** Reads the messages of a request in any of the gateway's APIs. */
export function readRequest(body: Json): readonly Said[] {
  const { messages, input, contents, system, instructions, systemInstruction, prompt } = asObject(body);
  const first = [system, instructions, systemInstruction].flatMap((given) =>
    given === undefined || given === null ? [] : [{ role: "system", parts: partsOf(given) }],
  );
  const list = [messages, input, contents].find(Array.isArray) ?? [];
  const alone = [input, prompt].find((given) => typeof given === "string");
  return [
    ...first,
    ...listOf(list).map((item) => ({ role: roleOf(asObject(item)), parts: messageParts(asObject(item)) })),
    ...(alone === undefined ? [] : [{ role: "user", parts: partsOf(alone) }]),
  ];
}

/** Everything else in a request's body: the model, tools and options. */
export const readOptions = (body: Json): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(asObject(body))
      .filter(([name]) => !MESSAGES.has(name))
      .map(([name, value]) => [name, JSON.stringify(value)]),
  );

/** Reads the answer in the messages that a client received. */
export function readAnswer(path: string, received: readonly CapturedMessage[]): Said {
  const dialect = DIALECTS.find((known) => endOf(path).endsWith(endOf(known.path("m")))) ?? DIALECTS[0];
  const values = received.flatMap(({ value }) => linesOf(value));
  let [text, thinking] = ["", ""];
  const others: Part[] = [];
  for (const value of values) {
    const piece = dialect.read(value);
    text += piece.text ?? "";
    thinking += piece.thinking ?? "";
    if (piece.tool !== undefined) others.push({ type: "data", title: "calls a tool", text: piece.tool });
    if (piece.error !== undefined) others.push({ type: "data", title: "error", text: piece.error });
  }
  const whole = text === "" && values.length === 1 ? wholeAnswer(asObject(values[0])) : [];
  return {
    role: "answer",
    parts: [
      ...(thinking === "" ? [] : [{ type: "data" as const, title: "thinking", text: thinking }]),
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...whole,
      ...others,
    ],
  };
}

/** Without the model and the query, which are in Gemini's paths. */
const endOf = (path: string): string => (path.split("?")[0] ?? "").replace(/^.*[/:]/, "");

/** Ollama's streams are lines of JSON in one body. */
function linesOf(value: Json): readonly Json[] {
  const text = asText(asObject(value)["text"]);
  if (text === undefined || !text.startsWith("{")) return [value];
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      try {
        return JSON.parse(line) as Json;
      } catch {
        return line;
      }
    });
}

/** An answer that was not streamed. */
function wholeAnswer({ choices, content, output, candidates, message }: Readonly<Record<string, Json>>) {
  const chosen = asObject(listOf(choices)[0])["message"] ?? asObject(listOf(candidates)[0])["content"] ?? message;
  if (chosen !== undefined) return messageParts(asObject(chosen));
  return content === undefined ? listOf(output).flatMap((item) => messageParts(asObject(item))) : partsOf(content);
}

const roleOf = ({ role, type }: Readonly<Record<string, Json>>): string => asText(role) ?? asText(type) ?? "message";

function messageParts(message: Readonly<Record<string, Json>>): readonly Part[] {
  const { content, parts, tool_calls, images, type } = message;
  const said = [...partsOf(content), ...partsOf(parts)];
  const calls = listOf(tool_calls).map((call) => dataPart("calls a tool", call));
  const pictures = listOf(images).flatMap((data) => imagePart(`data:image/png;base64,${asText(data) ?? ""}`));
  const isItem = said.length === 0 && calls.length === 0 && type !== undefined;
  return [...said, ...pictures, ...calls, ...(isItem ? [dataPart(asText(type) ?? "", message)] : [])];
}

function partsOf(content: Json): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (Array.isArray(content)) return content.flatMap(partOf);
  if (content === undefined || content === null) return [];
  const { parts } = asObject(content);
  return parts === undefined ? [dataPart("content", content)] : listOf(parts).flatMap(partOf);
}

function partOf(part: Json): readonly Part[] {
  if (typeof part === "string") return [{ type: "text", text: part }];
  const { text, image_url, source, inlineData, type } = asObject(part);
  if (typeof text === "string") return [{ type: "text", text }];
  const url = asText(image_url) ?? asText(asObject(image_url)["url"]);
  if (url !== undefined) return imagePart(url);
  const { media_type, mimeType, data } = { ...asObject(source), ...asObject(inlineData) };
  if (data !== undefined) return imagePart(`data:${asText(media_type ?? mimeType)};base64,${asText(data)}`);
  return [dataPart(asText(type) ?? "part", part)];
}

/** Other addresses are shown as text: loading them would tell their server of it. */
const imagePart = (url: string): readonly Part[] =>
  SAFE_IMAGE.test(url)
    ? [{ type: "image", url }]
    : [{ type: "data", title: "image, not shown", text: url.length > 200 ? `${url.slice(0, 200)}…` : url }];

const dataPart = (title: string, value: Json): Part => ({ type: "data", title, text: JSON.stringify(value, null, 2) });
