import type { UserPart } from "../../core/turn.ts";

/** Ends each text part but the last with a line break: joined as one text, the parts of a message would run together. */
export function separateTexts(parts: readonly UserPart[]): readonly UserPart[] {
  const last = parts.findLastIndex(({ type }) => type === "text");
  return parts.map((part, index) =>
    part.type === "text" && index < last && !part.text.endsWith("\n") ? { ...part, text: `${part.text}\n` } : part,
  );
}
