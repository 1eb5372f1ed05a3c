import type { Message, RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import { problems } from "./problems.ts";

export const wholeMessage = ({ id, content, stop_reason, stop_sequence, usage }: Message): readonly string[] =>
  problems({
    "the id begins with msg_": id.startsWith("msg_"),
    "calls end with tool_use": content.some(({ type }) => type === "tool_use") === (stop_reason === "tool_use"),
    "a stop sequence is named": (stop_reason === "stop_sequence") === (stop_sequence !== null),
    "no figure is negative": [usage.input_tokens, usage.output_tokens].every((figure) => figure >= 0),
    "no text is empty": content.every((block) => block.type !== "text" || block.text !== ""),
  });

/** The adapter reads the order of blocks; this is what it does not mind. */
export function messageStream(
  events: (RawMessageStreamEvent | { type: "ping" } | { type: "error" })[],
): readonly string[] {
  const types: readonly string[] = events.map(({ type }) => type);
  const begun = events.flatMap((event) => (event.type === "message_start" ? [event.message] : []));
  return problems({
    "it begins with message_start": types[0] === "message_start",
    "it ends with message_stop or an error": ["message_stop", "error"].includes(types.at(-1) ?? ""),
    "message_delta is the last but one": types.includes("error") || types.indexOf("message_delta") === types.length - 2,
    "it begins with no content and no reason": begun.every(
      ({ content, stop_reason }) => !content.length && !stop_reason,
    ),
    "a call begins with an empty input": events.every(
      (event) =>
        event.type !== "content_block_start" ||
        event.content_block.type !== "tool_use" ||
        Object.keys(event.content_block.input as object).length === 0,
    ),
  });
}
