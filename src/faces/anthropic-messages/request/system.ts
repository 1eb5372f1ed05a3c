import type { CountRequest, RequestMessage } from "../schema.ts";
import { joinTexts } from "./blocks.ts";

/** A line that Claude Code sends for Anthropic's billing. It changes with each call and means nothing to a model. */
const BILLING = "x-anthropic-billing-header:";

/** Returns all instructions in order: `system`, then those within the conversation that still apply. */
export function readSystem({ system, messages }: CountRequest): string {
  const before = typeof system === "string" ? [system] : (system ?? []).map(({ text }) => text);
  const lastAsked = messages.findLastIndex(({ role }) => role === "user");
  const within = messages.map((message, index) => {
    if (message.role !== "system") return "";
    return message.clear_at === "next_user_message" && index < lastAsked ? "" : instruction(message);
  });
  return [...before.filter((text) => !text.startsWith(BILLING)), ...within].filter((text) => text !== "").join("\n\n");
}

function instruction({ content }: Extract<RequestMessage, { role: "system" }>): string {
  if (typeof content === "string") return content;
  return joinTexts((content ?? []).flatMap((block) => (block.type === "text" ? [block] : [])));
}

/** Turns a trailing instruction into a user message, if nothing else asks: it is alone or follows an answer. */
export function lastInstructionAsQuestion(messages: readonly RequestMessage[]): readonly RequestMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "system") return messages;
  const asker = messages.findLast(({ role }) => role !== "system");
  if (asker && asker.role !== "assistant") return messages;
  return [...messages.slice(0, -1), { role: "user", content: instruction(last) }];
}
