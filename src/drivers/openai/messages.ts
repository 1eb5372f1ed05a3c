import { spellToolName } from "../../core/spell-tool-name.ts";
import {
  type AssistantMessage,
  type ImagePart,
  type JsonObject,
  type Message,
  textOf,
  type UserPart,
} from "../../core/turn.ts";
import { emptyQuestion } from "../shared/empty-question.ts";
import { pairResults } from "../shared/pair-results.ts";

/**
 * Converts the conversation. Thinking since the last user message is included if the server has a field for it: some
 * models lose their thread without it.
 */
export function apiMessages(messages: readonly Message[], system: string, keepsThinking: boolean): JsonObject[] {
  const sent: JsonObject[] = system === "" ? [] : [{ role: "system", content: system }];
  const paired = pairResults(messages);
  const asked = paired.findLastIndex(({ role }) => role === "user");
  let images: ImagePart[] = [];
  const showImages = () => {
    if (images.length > 0)
      sent.push({ role: "user", content: [text("The images of these results:"), ...images.map(image)] });
    images = [];
  };
  paired.forEach((message, index) => {
    if (message.role !== "tool") showImages();
    switch (message.role) {
      case "user":
        if (!isEmpty(message.content)) sent.push({ role: "user", content: userContent(message.content) });
        break;
      case "assistant":
        if (message.content.length > 0) sent.push(answerObject(message, keepsThinking && index > asked));
        break;
      case "tool":
        // Results are text; their images follow as a user message.
        images.push(...message.content.filter((part) => part.type === "image"));
        sent.push({ role: "tool", tool_call_id: message.callId, content: textOf(message.content) });
        break;
      default:
        message satisfies never;
    }
  });
  showImages();
  const asker = sent.at(-1)?.["role"];
  if (asker !== "user" && asker !== "tool") throw emptyQuestion();
  return sent;
}

const isEmpty = (parts: readonly UserPart[]): boolean =>
  parts.every((part) => part.type === "text" && part.text === "");

/**
 * Returns a plain string where possible, since some servers know only text. Leaves out empty parts, which some refuse.
 */
function userContent(content: readonly UserPart[]): string | JsonObject[] {
  const parts = content.filter((part) => part.type !== "text" || part.text !== "");
  const [first] = parts;
  if (parts.length === 1 && first?.type === "text") return first.text;
  return parts.map((part) => {
    if (part.type === "image") return image(part);
    return text(part.type === "text" ? part.text : `${part.name}\n\n${part.text}`);
  });
}

function answerObject({ content }: AssistantMessage, keepsThinking: boolean): JsonObject {
  const said = textOf(content);
  const thought = content.map((part) => (part.type === "thinking" ? part.text : "")).join("");
  const calls = content.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    const called = { name: spellToolName(part.name), arguments: JSON.stringify(part.args) };
    return [{ id: part.id, type: "function", function: called }];
  });
  return {
    role: "assistant",
    content: said === "" && calls.length > 0 ? null : said,
    ...(keepsThinking && thought !== "" && { reasoning_content: thought }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

const text = (value: string): JsonObject => ({ type: "text", text: value });

const image = ({ mediaType, data }: ImagePart): JsonObject => ({
  type: "image_url",
  image_url: { url: `data:${mediaType};base64,${Buffer.from(data).toString("base64")}` },
});
