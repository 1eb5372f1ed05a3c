import type { Message, ToolCallPart, ToolMessage } from "../../../core/turn.ts";

/** A tool call with its result, and the last message that needs it. Places are indexes of messages. */
export interface ReferredCall {
  readonly call: ToolCallPart;
  readonly callAt: number;
  readonly result: ToolMessage | undefined;
  readonly resultAt: number;
  readonly lastNeededAt: number;
}

/** Matches possible ids in a text. Shorter words would match by chance. */
const ID = /[\w-]{6,}/g;

/**
 * Returns the calls that a later message refers to: by their result, or by their id in a text or in arguments. One pass
 * over the conversation.
 */
export function referredCalls(messages: readonly Message[]): readonly ReferredCall[] {
  const calls = new Map<string, { -readonly [Name in keyof ReferredCall]: ReferredCall[Name] }>();
  const found: ReferredCall[] = [];
  messages.forEach((message, at) => {
    for (const id of idsIn(message)) {
      const known = calls.get(id);
      if (known) known.lastNeededAt = at;
    }
    if (message.role === "tool") {
      const known = calls.get(message.callId);
      if (known) Object.assign(known, { result: message, resultAt: at, lastNeededAt: at });
    }
    if (message.role !== "assistant") return;
    for (const part of message.content) {
      if (part.type !== "tool-call") continue;
      const entry = { call: part, callAt: at, result: undefined, resultAt: at, lastNeededAt: at };
      calls.set(part.id, entry);
      found.push(entry);
    }
  });
  return found;
}

function* idsIn(message: Message): Iterable<string> {
  for (const part of message.content) {
    const text = part.type === "image" ? "" : part.type === "tool-call" ? JSON.stringify(part.args) : part.text;
    for (const [id] of text.matchAll(ID)) yield id;
  }
}
