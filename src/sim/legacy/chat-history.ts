import type { JsonObject } from "@bufbuild/protobuf";
import { type ConversationMessage, MessageType } from "../../gen/aiserver/v1/conversation_pb.ts";
import { imageTypeOf } from "../../wire/agent/state/media-type.ts";
import type { Call, Message } from "../script/conversation.ts";

/** An old client uses this number for system messages; no schema has it. */
const SYSTEM_BY_HABIT = 3;

export const readBubbles = (bubbles: readonly ConversationMessage[]): readonly Message[] => bubbles.flatMap(readBubble);

function readBubble({ type, text, images, toolResults }: ConversationMessage): Message[] {
  if ((type as number) === SYSTEM_BY_HABIT) return [{ role: "system", text }];
  if (type !== MessageType.AI) {
    return [
      { role: "user", text, images: images.map(({ data }) => ({ type: imageTypeOf(data, ""), bytes: data.length })) },
    ];
  }
  const calls: Call[] = toolResults.map(({ toolCallId, toolName, rawArgs, args }) => ({
    id: toolCallId,
    name: toolName,
    args: parse(rawArgs || args),
  }));
  const results = toolResults.map(({ toolCallId, content, result }) => {
    const mcp = result?.result.case === "mcpResult" ? result.result.value.result : undefined;
    return { callId: toolCallId, text: content ?? mcp ?? result?.error?.modelVisibleErrorMessage ?? "" };
  });
  const said: Message = { role: "assistant", text, calls };
  return results.length === 0 ? [said] : [said, { role: "tool", results }];
}

function parse(json: string): JsonObject {
  try {
    return JSON.parse(json) as JsonObject;
  } catch {
    return {};
  }
}
