import { spellToolName } from "../../../core/spell-tool-name.ts";
import type { AssistantPart, ImagePart, JsonObject, Message, UserPart } from "../../../core/turn.ts";
import { emptyQuestion } from "../../shared/empty-question.ts";
import { pairResults } from "../../shared/pair-results.ts";
import { itemOf } from "./reasoning-item.ts";

/** Converts the conversation to items. Reasoning goes back as the upstream sent it; that of other upstreams is left out. */
export function inputItems(messages: readonly Message[]): JsonObject[] {
  const items = pairResults(messages).flatMap((message): JsonObject[] => {
    switch (message.role) {
      case "user": {
        const content = message.content.filter((part) => part.type !== "text" || part.text !== "").map(inputPart);
        return content.length === 0 ? [] : [{ type: "message", role: "user", content }];
      }
      case "assistant":
        return message.content.flatMap(outputItem);
      case "tool":
        return [{ type: "function_call_output", call_id: message.callId, output: outputOf(message.content) }];
      default:
        return message satisfies never;
    }
  });
  const last = items.at(-1);
  if (last?.["role"] !== "user" && last?.["type"] !== "function_call_output") throw emptyQuestion();
  return items;
}

function outputItem(part: AssistantPart): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      if (part.text === "") return [];
      return [{ type: "message", role: "assistant", content: [{ type: "output_text", text: part.text }] }];
    case "thinking": {
      const item = itemOf(part.signature);
      return item ? [item] : [];
    }
    case "tool-call": {
      const name = spellToolName(part.name);
      return [{ type: "function_call", call_id: part.id, name, arguments: JSON.stringify(part.args) }];
    }
    default:
      return part satisfies never;
  }
}

const inputPart = (part: UserPart): JsonObject => {
  if (part.type === "image") return inputImage(part);
  return inputText(part.type === "text" ? part.text : `${part.name}\n\n${part.text}`);
};

/** Returns plain text where possible. */
function outputOf(content: readonly UserPart[]): string | JsonObject[] {
  if (content.some(({ type }) => type !== "text")) return content.map(inputPart);
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

const inputText = (text: string): JsonObject => ({ type: "input_text", text });

const inputImage = ({ mediaType, data }: ImagePart): JsonObject => ({
  type: "input_image",
  detail: "auto",
  image_url: `data:${mediaType};base64,${Buffer.from(data).toString("base64")}`,
});
