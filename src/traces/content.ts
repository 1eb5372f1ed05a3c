import type { DoneReason } from "../core/events.ts";
import type { JsonValue, Message } from "../core/turn.ts";
import type { TurnContent } from "../usage/record/records.ts";
import { NAMES } from "./names.ts";
import type { AttributeValue } from "./otlp.ts";

/** The largest size of one attribute, as JSON. */
const MAX_BYTES = 64 * 1024;
/** Longer texts are cut. */
const MAX_TEXT_LENGTH = 8 * 1024;
/** What a message takes beside its parts. */
const MESSAGE_BYTES = 64;

/**
 * Returns what was said in a turn as attributes, in the JSON of the GenAI conventions. Each is bounded: long texts are cut,
 * and then the oldest parts are left out. The bytes of images are always left out.
 */
export function contentAttributes({ turn, answer }: TurnContent): Record<string, AttributeValue> {
  const system = turn.system === "" ? [] : [{ role: "system", parts: [textPart(turn.system)] }];
  const instructions = bounded(system);
  const input = bounded(turn.messages.map(writeMessage));
  const output = bounded(
    answer ? [{ ...writeMessage(answer.message), finish_reason: FINISH_REASONS[answer.reason] }] : [],
  );
  const isCut = [instructions, input, output].some((part) => part.isCut);
  const [first] = instructions.messages;
  return {
    [NAMES.instructions]: first && { json: JSON.stringify(first.parts) },
    [NAMES.inputMessages]: { json: JSON.stringify(input.messages) },
    [NAMES.outputMessages]: answer && { json: JSON.stringify(output.messages) },
    [NAMES.contentIsCut]: isCut || undefined,
  };
}

const FINISH_REASONS: Readonly<Record<DoneReason, string>> = {
  stop: "stop",
  "tool-calls": "tool_call",
  length: "length",
  "content-filter": "content_filter",
};

type Part = Readonly<Record<string, JsonValue>>;

interface WrittenMessage {
  readonly role: string;
  readonly parts: readonly Part[];
}

const textPart = (content: string): Part => ({ type: "text", content });

const writeMessage = (message: Message): WrittenMessage => ({
  role: message.role,
  parts:
    message.role === "tool"
      ? [{ type: "tool_call_response", id: message.callId, response: message.content.map(writePart) }]
      : message.content.map(writePart),
});

function writePart(part: Message["content"][number]): Part {
  switch (part.type) {
    case "text":
      return textPart(part.text);
    case "file":
      return { type: "file", name: part.name, content: part.text };
    case "thinking":
      return { type: "reasoning", content: part.text };
    case "image":
      return { type: "image", mime_type: part.mediaType, bytes: part.data.length };
    case "tool-call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: part.args };
  }
}

/** Keeps the newest parts, as many as fit. */
function bounded<One extends WrittenMessage>(messages: readonly One[]): { messages: readonly One[]; isCut: boolean } {
  const kept: One[] = [];
  let left = MAX_BYTES;
  let isCut = false;
  const cut = (_: string, value: unknown) => {
    if (typeof value !== "string" || value.length <= MAX_TEXT_LENGTH) return value;
    isCut = true;
    return `${value.slice(0, MAX_TEXT_LENGTH).toWellFormed()}…`;
  };
  for (const message of messages.toReversed()) {
    const parts: Part[] = [];
    left -= MESSAGE_BYTES;
    for (const part of message.parts.toReversed()) {
      const json = JSON.stringify(part, cut);
      left -= Buffer.byteLength(json) + 1;
      if (left < 0) break;
      parts.unshift(JSON.parse(json) as Part);
    }
    if (parts.length > 0 || left >= 0) kept.unshift({ ...message, parts });
    if (left < 0) return { messages: kept, isCut: true };
  }
  return { messages: kept, isCut };
}
