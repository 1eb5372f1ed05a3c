import { readArguments } from "../../../core/json/call-arguments.ts";
import type { AssistantPart, Message, TextPart } from "../../../core/turn.ts";
import { invalid } from "../../shared/errors/invalid.ts";
import { fetchThoughts } from "../../shared/fetch-thoughts.ts";
import type { GivenMessage } from "../../shared/tools/call-memory.ts";
import type { ReadContext } from "../parse.ts";
import type { ChatMessage } from "../schema.ts";
import { loadImages } from "./images.ts";

export interface Conversation {
  readonly system: string;
  readonly messages: readonly Message[];
  readonly conversation: string;
}

/** Splits the messages of a request into instructions and conversation. */
export async function readMessages(messages: readonly ChatMessage[], context: ReadContext): Promise<Conversation> {
  const asked = lastInstructionAsQuestion(messages);
  if (asked.at(-1)?.role === "assistant") {
    throw invalid(`messages[${asked.length - 1}].role`, 'the last message must be from "user" or "tool"');
  }
  const system = asked.flatMap(({ role, content }) => (role === "system" && content ? [content] : []));
  await fetchThoughts(context.thoughts, context.principal.id, (thoughts) => {
    for (const message of asked) if (message.role === "assistant") readAnswer(message, { ...context, thoughts });
  });
  const given = await Promise.all(
    asked.flatMap((message, index) =>
      message.role === "system" ? [] : [readMessage(message, `messages[${index}]`, context)],
    ),
  );
  return { system: system.join("\n\n"), ...context.memory.restore(context.principal.id, given) };
}

type SaidMessage = Exclude<ChatMessage, { role: "system" }>;

async function readMessage(message: SaidMessage, field: string, context: ReadContext): Promise<GivenMessage> {
  if (message.role === "assistant") return { role: "assistant", content: readAnswer(message, context) };
  const images = message.images ? await loadImages(message.images, `${field}.images`, context.images) : [];
  const content = [...textParts(message.content), ...images];
  if (message.role === "user") return { role: "user", content };
  const { tool_call_id, tool_name } = message;
  return {
    role: "tool",
    callId: tool_call_id || undefined,
    name: tool_name || undefined,
    field: tool_call_id ? `${field}.tool_call_id` : field,
    content,
    isError: false,
  };
}

type AnswerMessage = Extract<ChatMessage, { role: "assistant" }>;

function readAnswer({ content, thinking, tool_calls }: AnswerMessage, context: ReadContext): readonly AssistantPart[] {
  const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
    type: "tool-call" as const,
    id: id ?? "",
    name,
    args: typeof args === "string" ? readArguments(args) : (args ?? {}),
  }));
  return [...(thinking ? [readThinking(thinking, context)] : []), ...textParts(content), ...calls];
}

/** The dialect has no signatures, so the store has them. */
function readThinking(text: string, { thoughts, principal }: ReadContext): AssistantPart {
  return { type: "thinking", ...(thoughts.findByText(principal.id, text) ?? { text, signature: undefined }) };
}

const textParts = (text: string | null | undefined): readonly TextPart[] => (text ? [{ type: "text", text }] : []);

/** Turns a trailing instruction into a user message, if nothing else asks: it is alone or follows an answer. */
function lastInstructionAsQuestion(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "system") return messages;
  const asker = messages.findLast(({ role }) => role !== "system");
  if (asker && asker.role !== "assistant") return messages;
  return [...messages.slice(0, -1), { role: "user", content: last.content }];
}
