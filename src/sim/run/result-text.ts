import type { ToolMessage } from "../../core/turn.ts";

/** Returns a tool's result as the model reads it. */
export const resultText = (content: ToolMessage["content"]): string =>
  content
    .map((part) => (part.type === "text" ? part.text : `[image ${part.mediaType}:${part.data.length}]`))
    .join("\n");
