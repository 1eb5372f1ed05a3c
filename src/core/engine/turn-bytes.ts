import { CHARS_PER_TOKEN, estimateInputTokens } from "../rules/usage-estimate.ts";
import type { Turn } from "../turn.ts";

/** Estimates the memory of a turn: its text and its images. */
export function turnBytes(turn: Turn): number {
  let imageBytes = 0;
  for (const { content } of turn.messages) {
    for (const part of content) if (part.type === "image") imageBytes += part.data.byteLength;
  }
  return estimateInputTokens(turn) * CHARS_PER_TOKEN + imageBytes;
}
