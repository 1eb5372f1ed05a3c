import { readArguments } from "../../../core/json/call-arguments.ts";
import { isJsonObject } from "../../../core/json/is-json-object.ts";
import { redactedSignature } from "../../../core/thinking/redacted-thinking.ts";
import type { AssistantPart, JsonObject, Message, TextPart, ToolMessage, UserPart } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import type { ImageLoader } from "../../shared/face.ts";
import { separateTexts } from "../../shared/separate-texts.ts";
import { CallResults } from "../../shared/tools/call-results.ts";
import type { AssistantBlock, RequestMessage, ToolResultBlock, UserBlock } from "../schema.ts";
import { readSignature } from "../signature.ts";
import { loadResult, loadShown, type ShownBlock, textPart } from "./blocks.ts";
import { lastInstructionAsQuestion } from "./system.ts";

/** Returns the conversation without instructions; {@link readSystem} reads those. */
export async function readMessages(
  messages: readonly RequestMessage[],
  images: ImageLoader,
): Promise<readonly Message[]> {
  checkResults(messages);
  const read = messages.map(async (message, index): Promise<readonly Message[]> => {
    const field = `messages[${index}].content`;
    if (message.role === "user") return readUser(message.content, field, images);
    if (message.role === "assistant") return [{ role: "assistant", content: readAssistant(message.content) }];
    return [];
  });
  return (await Promise.all(read)).flat();
}

/** Throws if the conversation ends with an answer. */
export function checkAsked(messages: readonly RequestMessage[]): void {
  const asked = lastInstructionAsQuestion(messages);
  const last = asked.findLastIndex(({ role }) => role !== "system");
  if (asked[last]?.role !== "assistant") return;
  throw invalid(`messages[${last}].role`, 'the conversation must end with a "user" message');
}

/** Splits a user message into its tool results and the rest. Results come first. */
async function readUser(
  content: string | readonly UserBlock[],
  field: string,
  images: ImageLoader,
): Promise<readonly Message[]> {
  if (typeof content === "string") return [{ role: "user", content: present([textPart(content)]) }];
  const parts = await Promise.all(
    content.map((block, index) => {
      const place = `${field}[${index}]`;
      return block.type === "tool_result" ? readResult(block, place, images) : loadShown(block, place, images);
    }),
  );
  const results = parts.filter(isResult);
  const shown = separateTexts(parts.filter(isShown));
  if (results.length === 0) return [{ role: "user", content: shown }];
  const reminders = shown.filter(isReminder);
  const words = shown.filter((part) => !isReminder(part));
  return [
    ...withReminders(results, reminders),
    ...(words.length > 0 ? [{ role: "user", content: words } as const] : []),
  ];
}

async function readResult(block: ToolResultBlock, field: string, images: ImageLoader): Promise<ToolMessage> {
  const { content, tool_use_id: callId, is_error: isError } = block;
  const parts =
    typeof content === "string"
      ? [textPart(content)]
      : await Promise.all((content ?? []).map((part, index) => loadResult(part, `${field}.content[${index}]`, images)));
  return { role: "tool", callId, content: present(parts), isError: isError ?? false };
}

/**
 * Claude Code puts reminders beside tool results. As a user message they would end the parked run and start a new one.
 * So they are appended to the last result.
 */
function withReminders(results: readonly ToolMessage[], reminders: readonly TextPart[]): readonly ToolMessage[] {
  const last = results.at(-1);
  if (!last || reminders.length === 0) return results;
  return [...results.slice(0, -1), { ...last, content: [...last.content, ...reminders] }];
}

const isReminder = (part: UserPart): part is TextPart =>
  part.type === "text" && part.text.trimStart().startsWith("<system-reminder>");

type ReadPart = UserPart | ToolMessage | undefined;

const isResult = (part: ReadPart): part is ToolMessage => part !== undefined && "role" in part;

const isShown = (part: ReadPart): part is UserPart => part !== undefined && !("role" in part);

function readAssistant(content: string | readonly AssistantBlock[]): readonly AssistantPart[] {
  return typeof content === "string" ? present([textPart(content)]) : present(content.map(readAssistantBlock));
}

function readAssistantBlock(block: AssistantBlock): AssistantPart | undefined {
  switch (block.type) {
    case "text":
      return textPart(block.text);
    case "thinking": {
      const { thinking: text } = block;
      const returned = readSignature(text, block.signature);
      if (returned.type === "broken") return undefined;
      return { type: "thinking", text, signature: returned.type === "foreign" ? returned.signature : undefined };
    }
    case "redacted_thinking":
      return block.data ? { type: "thinking", text: "", signature: redactedSignature(block.data) } : undefined;
    case "tool_use":
      return { type: "tool-call", id: block.id, name: block.name, args: readInput(block.input) };
    default:
      return undefined;
  }
}

/** Accepts any input, since a model wrote it. */
function readInput(input: unknown): JsonObject {
  if (isJsonObject(input)) return input;
  return readArguments(typeof input === "string" ? input : JSON.stringify(input ?? {}));
}

function checkResults(messages: readonly RequestMessage[]): void {
  const results = new CallResults();
  messages.forEach(({ role, content }, index) => {
    if (role === "system" || typeof content === "string") return;
    const ids = content.flatMap((block, at) => (block.type === "tool_use" ? [{ id: block.id, at }] : []));
    results.calls(
      ids.map(({ id }) => id),
      (call) => `messages[${index}].content[${ids[call]?.at}].id`,
    );
    content.forEach((block, at) => {
      if (block.type !== "tool_result") return;
      results.result(block.tool_use_id, `messages[${index}].content[${at}].tool_use_id`);
    });
  });
}

export function countImages(messages: readonly RequestMessage[]): number {
  let count = 0;
  const see = (block: ShownBlock | ToolResultBlock | AssistantBlock): void => {
    if (block.type === "image") count++;
    if (block.type !== "tool_result" || typeof block.content === "string") return;
    for (const part of block.content ?? []) if (part.type === "image") count++;
  };
  for (const { role, content } of messages) if (role !== "system" && typeof content !== "string") content.forEach(see);
  return count;
}

const present = <T>(parts: readonly (T | undefined)[]): T[] => parts.filter((part) => part !== undefined);
