import type { ContentBlock, PromptCapabilities } from "@agentclientprotocol/sdk";
import { ExcursorError } from "../../core/errors.ts";
import { type Message, type Turn, textOf, type UserPart } from "../../core/turn.ts";

/** Returns the messages that are new to the session. A new session also gets the instructions and history. */
export function promptBlocks(
  { system, messages }: Pick<Turn, "system" | "messages">,
  known: number | undefined,
  can: PromptCapabilities,
): readonly ContentBlock[] {
  const fresh = messages.slice(known ?? lastQuestion(messages));
  const blocks = fresh.flatMap(({ role, content }) =>
    role === "user" ? content.map((part) => blockOf(part, can)) : [text(describe({ role, content } as Message))],
  );
  if (known !== undefined) return blocks;
  const before = messages.slice(0, messages.length - fresh.length).map(describe);
  return [
    ...(system === "" ? [] : [text(`<instructions>\n${system}\n</instructions>`)]),
    ...(before.length === 0 ? [] : [text(`<conversation-so-far>\n${before.join("\n\n")}\n</conversation-so-far>`)]),
    ...blocks,
  ];
}

/** Returns where the trailing user messages begin. */
function lastQuestion(messages: readonly Message[]): number {
  const before = messages.findLastIndex(({ role }) => role !== "user");
  return before === messages.length - 1 ? Math.max(before, 0) : before + 1;
}

function blockOf(part: UserPart, can: PromptCapabilities): ContentBlock {
  switch (part.type) {
    case "text":
      return text(part.text);
    case "image":
      if (!can.image) {
        throw new ExcursorError("invalid-request", "messages: this agent does not accept images.", {
          field: "messages",
        });
      }
      return { type: "image", mimeType: part.mediaType, data: Buffer.from(part.data).toString("base64") };
    case "file": {
      if (!can.embeddedContext) return text(`<file name=${JSON.stringify(part.name)}>\n${part.text}\n</file>`);
      const uri = `attachment:///${encodeURIComponent(part.name)}`;
      return { type: "resource", resource: { uri, text: part.text, mimeType: "text/plain" } };
    }
    default:
      return part satisfies never;
  }
}

/** Returns a message as text, for the conversation so far. */
function describe(message: Message): string {
  switch (message.role) {
    case "user":
      return `User: ${textOf(message.content)}`;
    case "tool":
      return `Tool result: ${textOf(message.content)}`;
    case "assistant": {
      const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [` [called ${part.name}]`] : []));
      return `Assistant: ${textOf(message.content)}${calls.join("")}`;
    }
    default:
      return message satisfies never;
  }
}

const text = (words: string): ContentBlock => ({ type: "text", text: words });
