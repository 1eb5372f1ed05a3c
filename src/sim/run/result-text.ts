import type { ToolMessage } from "../../core/turn.ts";

/** The text that the model reads of a tool's result. */
export const resultText = (content: ToolMessage["content"]): string =>
  content
    .map((part) => (part.type === "text" ? part.text : `[image ${part.mediaType}:${part.data.length}]`))
    .join("\n");
