import { spellToolName } from "../../../core/spell-tool-name.ts";
import { type AssistantMessage, type JsonObject, type Message, type ToolMessage, textOf } from "../../../core/turn.ts";

/** The backend refuses more entries than about two hundred. */
const MAX_ROOTS = 192;

/** The prompt entries that the model reads, of messages whose calls are followed by their results. */
export function rootMessages(messages: readonly Message[]): readonly JsonObject[] {
  const roots: JsonObject[] = [];
  const names = new Map<string, string>();
  // A result has no place for them, so they follow the results as if the user had shown them.
  let shown: JsonObject[] = [];
  const flush = () => {
    if (shown.length > 0) roots.push({ role: "user", content: [SHOWN_BY_TOOL, ...shown] });
    shown = [];
  };
  for (const message of messages) {
    if (message.role !== "tool") flush();
    switch (message.role) {
      case "user":
        roots.push(userRoot(message.content));
        break;
      case "assistant":
        for (const part of message.content) if (part.type === "tool-call") names.set(part.id, spellToolName(part.name));
        roots.push(...assistantRoots(message));
        break;
      case "tool":
        roots.push(toolRoot(message, names.get(message.callId) ?? ""));
        shown.push(...imageParts(message.content));
        break;
    }
  }
  flush();
  return foldOldest(roots);
}

const SHOWN_BY_TOOL: JsonObject = { type: "text", text: "These images belong to the tool results above." };

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

/** Reasoning stays out: the upstream accepts only its own, with its signature. What says nothing else is left out. */
function assistantRoots({ content }: AssistantMessage): JsonObject[] {
  const parts = content.flatMap((part): JsonObject[] => {
    if (part.type === "text") return part.text === "" ? [] : [{ type: "text", text: part.text }];
    if (part.type !== "tool-call") return [];
    return [{ type: "tool-call", toolCallId: part.id, toolName: spellToolName(part.name), args: part.args }];
  });
  return parts.length === 0 ? [] : [{ role: "assistant", content: parts }];
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
 * Folds the oldest entries into one text, so that as many as the backend takes remain: never a result without its
 * call, and the last thing that the user asked for stays an entry of its own.
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
