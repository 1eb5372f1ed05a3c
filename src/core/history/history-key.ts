import { hash } from "node:crypto";
import { roundBreak } from "../hub/round-break.ts";
import { type AssistantMessage, type JsonValue, type Message, textOf } from "../turn.ts";

/**
 * A key for every prefix of a conversation: `keys[n]` stands for the first n messages. It is a hash chain, so the keys
 * of all prefixes cost one pass.
 *
 * Histories are compared canonically: role, text, images, parsed arguments, tool ids. Reasoning, names, cache marks,
 * how text is cut into parts, key order and empty content do not count, since clients change those on the way back.
 * Nor does what the hub did: the client has never heard of it, and has what came before and after as one answer.
 */
export function historyKeys(messages: readonly Message[]): readonly string[] {
  const keys = ["root"];
  /** An answer that goes on in the next message, and the key before it. */
  let open: { readonly answer: AssistantMessage; readonly before: string } | undefined;
  for (const message of messages) {
    const key = keys[keys.length - 1] ?? "";
    if (message.role === "tool" && message.isHubs) {
      keys.push(key);
      continue;
    }
    const isMore = message.role === "assistant" && open !== undefined && keepsOn(open.answer);
    const whole = isMore && open ? joined(open.answer, message) : message;
    const before = isMore && open ? open.before : key;
    open = whole.role === "assistant" ? { answer: whole, before } : undefined;
    keys.push(hash("sha256", before + JSON.stringify(canonical(whole)), "base64url"));
  }
  return keys;
}

/** All that it called was ours: the client sees no end there. */
const keepsOn = ({ content }: AssistantMessage): boolean =>
  content.some((part) => part.type === "tool-call") &&
  content.every((part) => part.type !== "tool-call" || part.isHubs);

/** One answer, as the client was shown it. */
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
        part.type === "tool-call" && !part.isHubs ? [[part.id, part.name, sortKeys(part.args)] as const] : [],
      );
      // Around thinking that was part of the text, line breaks get lost.
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
