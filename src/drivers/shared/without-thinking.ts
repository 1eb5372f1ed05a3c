import type { Turn } from "../../core/turn.ts";

/** Returns the turn without its thinking, or undefined if it has none. */
export function withoutThinking(turn: Turn): Turn | undefined {
  let hasThinking = false;
  const messages = turn.messages.map((message) => {
    if (message.role !== "assistant") return message;
    const content = message.content.filter(({ type }) => type !== "thinking");
    if (content.length === message.content.length) return message;
    hasThinking = true;
    return { ...message, content };
  });
  return hasThinking ? { ...turn, messages } : undefined;
}
