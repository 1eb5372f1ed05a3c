import { hash } from "node:crypto";
import { roundBreak } from "../hub/round-break.ts";
import { type AssistantMessage, type JsonObject, type JsonValue, type Message, textOf } from "../turn.ts";

/**
 * Returns a key for every prefix of a conversation: `keys[n]` is that of the first n messages. The keys are a hash chain, so
 * all of them are made in one pass.
 *
 * Keys are made of what clients send back unchanged: roles, texts, images, parsed arguments and call ids. Reasoning, names,
 * cache marks, the division of text into parts, key order and empty content are left out. So are hub calls: the client does
 * not see them, and has the text before and after them as one answer.
 */
export function historyKeys(messages: readonly Message[]): readonly string[] {
  const keys = ["root"];
  /** The last answer, which the next message may continue, and the key before it. */
  let open: { readonly answer: AssistantMessage; readonly before: string } | undefined;
  for (const message of messages) {
    const key = keys[keys.length - 1] ?? "";
    if (message.role === "tool" && message.isHubs) {
      keys.push(key);
      continue;
    }
    const isMore = message.role === "assistant" && open !== undefined && continues(open.answer);
    const whole = isMore && open ? joined(open.answer, message) : message;
    const before = isMore && open ? open.before : key;
    open = whole.role === "assistant" ? { answer: whole, before } : undefined;
    keys.push(hash("sha256", before + JSON.stringify(canonical(whole)), "base64url"));
  }
  return keys;
}

/** Returns a key of the arguments of a call, whatever the order of their members. */
export const argsKey = (args: JsonObject): string => hash("sha256", JSON.stringify(sortKeys(args)), "base64url");

/** True if all its calls are hub calls: for the client the answer continues in the next message. */
const continues = ({ content }: AssistantMessage): boolean =>
  content.some((part) => part.type === "tool-call") &&
  content.every((part) => part.type !== "tool-call" || part.isHubs);

/** Joins two parts of an answer as the client has them. */
function joined(before: AssistantMessage, after: AssistantMessage): AssistantMessage {
  const text = roundBreak(textOf(before.content), textOf(after.content));
  return { role: "assistant", content: [...before.content, { type: "text", text }, ...after.content] };
}

function canonical(message: Message): JsonValue {
  switch (message.role) {
    case "user":
      return ["user", textOf(message.content), digests(message.content), files(message.content)];
    case "assistant": {
      const calls = message.content.flatMap((part) =>
        part.type === "tool-call" && !part.isHubs
          ? [[part.id, part.name, part.argsKey ?? argsKey(part.args)] as const]
          : [],
      );
      // Clients that have thinking in the text lose line breaks around it.
      return ["assistant", textOf(message.content).trim(), calls];
    }
    case "tool":
      return ["tool", message.callId, textOf(message.content), digests(message.content), message.isError];
  }
}

type AnyPart = Message["content"][number];

const digests = (content: readonly AnyPart[]): JsonValue[] =>
  content.flatMap((part) => (part.type === "image" ? [hash("sha256", part.data, "base64url")] : []));

const files = (content: readonly AnyPart[]): JsonValue[] =>
  content.flatMap((part) => (part.type === "file" ? [[part.name, part.text]] : []));

function sortKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner as JsonValue)]));
}
