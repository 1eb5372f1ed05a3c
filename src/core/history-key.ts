import { createHash } from "node:crypto";
import type { JsonValue, Message } from "./turn.ts";

/**
 * A key for every prefix of a conversation: `keys[n]` stands for the first n messages. It is a hash chain, so the keys
 * of all prefixes cost one pass.
 *
 * Histories are compared canonically: role, text, images, parsed arguments, tool ids. Reasoning, names, cache marks,
 * how text is cut into parts, key order and empty content do not count, since clients change those on the way back.
 */
export function historyKeys(messages: readonly Message[]): readonly string[] {
  const keys = ["root"];
  for (const message of messages) {
    const hash = createHash("sha256").update(keys[keys.length - 1] ?? "");
    hash.update(JSON.stringify(canonical(message)));
    keys.push(hash.digest("base64url"));
  }
  return keys;
}

function canonical(message: Message): JsonValue {
  switch (message.role) {
    case "user":
      return ["user", joinText(message.content), digests(message.content), files(message.content)];
    case "assistant": {
      const calls = message.content.flatMap((part) =>
        part.type === "tool-call" ? [[part.id, part.name, sortKeys(part.args)] as const] : [],
      );
      return ["assistant", joinText(message.content), calls];
    }
    case "tool":
      return ["tool", message.callId, joinText(message.content), digests(message.content), message.isError];
  }
}

type AnyPart = Message["content"][number];

const joinText = (content: readonly AnyPart[]): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("");

const digests = (content: readonly AnyPart[]): JsonValue[] =>
  content.flatMap((part) =>
    part.type === "image" ? [createHash("sha256").update(part.data).digest("base64url")] : [],
  );

const files = (content: readonly AnyPart[]): JsonValue[] =>
  content.flatMap((part) => (part.type === "file" ? [[part.name, part.text]] : []));

function sortKeys(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner as JsonValue)]));
}
