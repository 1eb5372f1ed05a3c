import type { Message, ToolCallPart, ToolMessage } from "../../../core/turn.ts";

/** A result for a call that has none, because its run was cut off. */
export const unfinished = (callId: string, text: string): ToolMessage => ({
  role: "tool",
  callId,
  content: [{ type: "text", text }],
  isError: true,
});

const NOT_FINISHED = "The call was not finished.";

/** Gives every call that has no result one, directly after its message: models refuse conversations without. */
export async function completeCalls(
  messages: readonly Message[],
  resolve: (call: ToolCallPart) => Promise<ToolMessage>,
): Promise<Message[]> {
  const results = new Map(
    messages.flatMap((message) => (message.role === "tool" ? [[message.callId, message] as const] : [])),
  );
  const lastAsked = messages.findLastIndex(({ role }) => role === "user");
  const complete: Message[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") continue;
    complete.push(message);
    if (message.role !== "assistant") continue;
    const calls = message.content.filter((part) => part.type === "tool-call");
    const own = calls.map(
      (call) => results.get(call.id) ?? (at > lastAsked ? resolve(call) : unfinished(call.id, NOT_FINISHED)),
    );
    complete.push(...(await Promise.all(own)));
  }
  return complete;
}
