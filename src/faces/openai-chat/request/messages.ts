import { after } from "../../../core/awaitable.ts";
import { readArguments } from "../../../core/json/call-arguments.ts";
import { type AssistantPart, type Message, type TextPart, type ToolCallPart, textOf } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import type { ImageLoader } from "../../shared/face.ts";
import { fetchThoughts } from "../../shared/fetch-thoughts.ts";
import { separateTexts } from "../../shared/separate-texts.ts";
import { CallResults } from "../../shared/tools/call-results.ts";
import type { ChatMessage } from "../schema.ts";
import { type ReturnContext, readReturnedField, readReturnedText } from "../thinking/returned-thinking.ts";
import { type Content, isImage, loadParts } from "./parts.ts";

export interface Conversation {
  readonly system: string;
  readonly messages: readonly Message[];
}

/** Splits the messages of a request into instructions and conversation. */
export async function readMessages(
  messages: readonly ChatMessage[],
  images: ImageLoader,
  returned: ReturnContext,
): Promise<Conversation> {
  checkResults(messages);
  const asked = lastInstructionAsQuestion(messages);
  const last = asked.at(-1);
  if (last?.role === "assistant") {
    throw invalid(`messages[${asked.length - 1}].role`, 'the last message must be from "user" or "tool"');
  }
  await fetchThoughts(returned.thoughts, returned.principalId, (thoughts) => {
    for (const message of asked) if (message.role === "assistant") readAssistant(message, { ...returned, thoughts });
  });
  const system = asked.flatMap((message) => (isInstruction(message) ? [joinTexts(message.content)] : []));
  const reading = asked.flatMap((message, index) =>
    isInstruction(message) ? [] : [readMessage(message, `messages[${index}]`, images, returned)],
  );
  return {
    system: system.filter((text) => text !== "").join("\n\n"),
    messages: reading.every(isRead) ? reading : await Promise.all(reading),
  };
}

const isRead = (message: Message | Promise<Message>): message is Message => !(message instanceof Promise);

export function countImages(messages: readonly ChatMessage[]): number {
  let count = 0;
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const part of content) if (isImage(part)) count++;
  }
  return count;
}

function readMessage(
  message: Exclude<ChatMessage, Instruction>,
  field: string,
  images: ImageLoader,
  returned: ReturnContext,
): Message | Promise<Message> {
  switch (message.role) {
    case "user": {
      const content = loadParts(message.content, `${field}.content`, images);
      return after(content, (loaded) => ({ role: "user", content: separateTexts(loaded) }));
    }
    case "assistant":
      return { role: "assistant", content: readAssistant(message, returned) };
    case "tool": {
      const content = loadParts(message.content ?? "", `${field}.content`, images);
      const { tool_call_id: callId, is_error } = message;
      return after(content, (loaded) => ({ role: "tool", callId, content: loaded, isError: is_error ?? false }));
    }
    default:
      return message satisfies never;
  }
}

type AssistantInput = Extract<ChatMessage, { role: "assistant" }>;

function readAssistant(message: AssistantInput, returned: ReturnContext): AssistantPart[] {
  const { content, refusal, reasoning_content, reasoning, thinking_blocks: blocks, tool_calls } = message;
  const thinking = blocks?.length ? undefined : reasoning_content || reasoning;
  const said = typeof content === "string" ? [content] : (content ?? []).map(textOfPart);
  const texts = [...said, refusal ?? ""].filter((text) => text !== "");
  return [
    ...(blocks ?? []).map(readBlock),
    ...(thinking ? [readReturnedField(thinking, returned)] : []),
    ...texts.flatMap((text) => readReturnedText(text, returned)),
    ...(tool_calls ?? []).map(readCall),
  ];
}

type ThinkingBlock = NonNullable<AssistantInput["thinking_blocks"]>[number];

const readBlock = ({ thinking, signature }: ThinkingBlock): AssistantPart => ({
  type: "thinking",
  text: thinking,
  signature: signature || undefined,
});

const textOfPart = (part: Exclude<NonNullable<AssistantInput["content"]>, string>[number]): string =>
  part.type === "text" ? part.text : part.refusal;

type Call = NonNullable<AssistantInput["tool_calls"]>[number];

const readCall = ({ id, function: called }: Call): ToolCallPart => ({
  type: "tool-call",
  id,
  name: called.name,
  args: readArguments(called.arguments ?? ""),
});

function checkResults(messages: readonly ChatMessage[]): void {
  const results = new CallResults();
  messages.forEach((message, index) => {
    if (message.role === "assistant") {
      const ids = (message.tool_calls ?? []).map(({ id }) => id);
      results.calls(ids, (call) => `messages[${index}].tool_calls[${call}].id`);
    }
    if (message.role === "tool") results.result(message.tool_call_id, `messages[${index}].tool_call_id`);
  });
}

type Instruction = Extract<ChatMessage, { role: "system" | "developer" }>;

const isInstruction = (message: ChatMessage): message is Instruction =>
  message.role === "system" || message.role === "developer";

/** Turns a trailing instruction into a user message, if nothing else asks: it is alone or follows an answer. */
function lastInstructionAsQuestion(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.at(-1);
  if (!last || !isInstruction(last)) return messages;
  const asker = messages.findLast((message) => !isInstruction(message));
  if (asker && asker.role !== "assistant") return messages;
  return [...messages.slice(0, -1), { role: "user", content: last.content }];
}

const joinTexts = (content: Content): string =>
  typeof content === "string"
    ? content
    : textOf(separateTexts(content.filter((part) => part.type === "text" && part.text !== "") as readonly TextPart[]));
