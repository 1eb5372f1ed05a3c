import type { JsonObject } from "@bufbuild/protobuf";
import type { ConversationHistory, ConversationHistory_Content } from "../../gen/agent/v1/conversation_history_pb.ts";
import type { Call, Message } from "../script/conversation.ts";
import { describeImage } from "./image.ts";
import { unwrapUserQuery } from "./root-message.ts";

/** The history that some clients send beside their message, instead of in the state. */
export function readPlainHistory(history: ConversationHistory | undefined): readonly Message[] {
  return (history?.messages ?? []).flatMap(({ message }): Message[] => {
    switch (message.case) {
      case "user": {
        const images = message.value.content.flatMap(({ content }) =>
          content.case === "image"
            ? [describeImage(Buffer.from(content.value.data, "base64"), content.value.mimeType ?? "")]
            : [],
        );
        return [{ role: "user", text: unwrapUserQuery(textOf(message.value.content)), images }];
      }
      case "assistant": {
        const { content: parts } = message.value;
        const text = parts.map(({ content }) => (content.case === "text" ? content.value.text : "")).join("");
        const calls = parts.flatMap(({ content }): Call[] =>
          content.case === "toolCall"
            ? [
                {
                  id: content.value.toolCallId,
                  name: content.value.toolName,
                  args: parseObject(content.value.argsJson),
                },
              ]
            : [],
        );
        return [{ role: "assistant", text, calls }];
      }
      case "tool":
        return [{ role: "tool", results: [{ callId: message.value.toolCallId, text: textOf(message.value.content) }] }];
      default:
        return [];
    }
  });
}

const textOf = (parts: readonly ConversationHistory_Content[]): string =>
  parts.map(({ content }) => (content.case === "text" ? content.value.text : "")).join("");

function parseObject(json: string): JsonObject {
  try {
    return JSON.parse(json) as JsonObject;
  } catch {
    return {};
  }
}
