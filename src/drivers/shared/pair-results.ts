import type { Message, ToolCallPart, ToolMessage } from "../../core/turn.ts";

/**
 * The conversation with the results of every call directly behind it, in the order of the calls. Prompts where a call
 * is not followed by its result are refused, and clients send such: a word in between, a call that was given up.
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
