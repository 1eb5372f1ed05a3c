import type { Message, ToolCallPart, ToolMessage } from "../../core/turn.ts";

/**
 * Puts the results of every call directly after it, in the order of the calls. Upstreams refuse other orders, but
 * clients send messages in between and calls without a result.
 */
export function pairResults(messages: readonly Message[]): readonly Message[] {
  const paired: Message[] = [];
  let behind: Message[] = [];
  let calls: readonly ToolCallPart[] = [];
  const flush = () => {
    const results = new Map(behind.flatMap((message) => (message.role === "tool" ? [[message.callId, message]] : [])));
    paired.push(...calls.map(({ id }) => results.get(id) ?? notProvided(id)));
    paired.push(...behind.filter((message) => message.role !== "tool"));
  };
  for (const message of messages) {
    if (message.role !== "assistant") {
      behind.push(message);
      continue;
    }
    flush();
    paired.push(message);
    behind = [];
    calls = message.content.filter((part) => part.type === "tool-call");
  }
  flush();
  return paired;
}

const notProvided = (callId: string): ToolMessage => ({
  role: "tool",
  callId,
  content: [{ type: "text", text: "The result was not provided." }],
  isError: true,
});
