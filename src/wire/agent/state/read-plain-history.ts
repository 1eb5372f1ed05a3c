import type { AssistantPart, Message, TextPart } from "../../../core/turn.ts";
import type {
  ConversationHistory,
  ConversationHistory_Content,
} from "../../../gen/agent/v1/conversation_history_pb.ts";
import { imageTypeOf } from "./media-type.ts";
import { parseArgs, unwrapUserQuery } from "./root-messages.ts";

/** Reads the history that some clients send beside their message instead of in the state. */
export function readPlainHistory(history: ConversationHistory | undefined): readonly Message[] {
  return (history?.messages ?? []).flatMap(({ message }): Message[] => {
    switch (message.case) {
      case "user": {
        const { content: parts } = message.value;
        const images = parts.flatMap(({ content }) => {
          if (content.case !== "image") return [];
          const data = Buffer.from(content.value.data, "base64");
          return [{ type: "image" as const, data, mediaType: imageTypeOf(data, content.value.mimeType ?? "") }];
        });
        return [{ role: "user", content: [textPart(unwrapUserQuery(joinTexts(parts))), ...images] }];
      }
      case "assistant": {
        const content = message.value.content.flatMap(({ content: part }): AssistantPart[] => {
          if (part.case === "text") return [textPart(part.value.text)];
          if (part.case !== "toolCall") return [];
          const { toolCallId: id, toolName: name, argsJson } = part.value;
          return [{ type: "tool-call", id, name, args: parseArgs(argsJson) }];
        });
        return [{ role: "assistant", content }];
      }
      case "tool": {
        const { toolCallId: callId, content } = message.value;
        return [{ role: "tool", callId, content: [textPart(joinTexts(content))], isError: false }];
      }
      default:
        return [];
    }
  });
}

const textPart = (text: string): TextPart => ({ type: "text", text });

const joinTexts = (parts: readonly ConversationHistory_Content[]): string =>
  parts.map(({ content }) => (content.case === "text" ? content.value.text : "")).join("");
