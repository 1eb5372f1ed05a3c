import type { Message, ToolCallPart } from "../../../core/turn.ts";
import type { ToolCall } from "../../../gen/agent/v1/tool_call_pb.ts";
import type { Transcript } from "../../../wire/agent/state/transcript.ts";

/** Writes messages of an earlier attempt into a transcript. `displayOf` returns how a call is shown to the user. */
export function writeHistory(
  transcript: Transcript,
  messages: readonly Message[],
  displayOf: (call: ToolCallPart) => ToolCall,
): void {
  const calls = new Map<string, ToolCallPart>();
  for (const message of messages) {
    if (message.role === "tool") {
      const call = calls.get(message.callId);
      if (call) transcript.endCall(message.callId, displayOf(call), message);
      continue;
    }
    if (message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type === "text") transcript.addText(part.text);
      else if (part.type === "thinking") {
        if (part.text !== "") transcript.addThinking(part.text);
        transcript.endThinking(1, part.signature);
      }
    }
    const own = message.content.filter((part) => part.type === "tool-call");
    for (const call of own) calls.set(call.id, call);
    if (own.length > 0) transcript.addCalls(own.map((call) => shownCall(call, displayOf(call))));
  }
}

export const shownCall = ({ id, name, args }: ToolCallPart, display: ToolCall) => ({ id, name, args, display });
