import { ExcursorError } from "../../core/errors.ts";
import type { Message, Turn } from "../../core/turn.ts";
import { estimateFixedTokens, estimateMessageTokens } from "../../core/usage-estimate.ts";
import type { ResolvedModel } from "./models/model.ts";

/**
 * The turn as the model can read it. Refuses, before anything is sent, what it cannot: images, or too long a
 * conversation, which clients know how to compact. Where it shall be trimmed, the oldest turns go first, each as a
 * whole, so that no tool call loses its result.
 */
export function fitContext(turn: Turn, model: ResolvedModel, policy: "refuse" | "trim"): Turn {
  const { contextTokens, displayId } = model;
  if (!model.supportsImages && hasImages(turn)) {
    throw new ExcursorError("invalid-request", `The model ${displayId} does not take images.`, {
      code: "images_unsupported",
      field: "messages",
      hint: "Choose another model, or leave the images out.",
    });
  }
  const sizes = turn.messages.map(estimateMessageTokens);
  let tokens = sizes.reduce((sum, size) => sum + size, estimateFixedTokens(turn));
  let start = 0;
  while (tokens > contextTokens) {
    const next = policy === "trim" ? nextTurn(turn.messages, start) : undefined;
    if (next === undefined) throw tooLong(tokens, contextTokens, displayId);
    for (; start < next; start++) tokens -= sizes[start] ?? 0;
  }
  return start === 0 ? turn : { ...turn, messages: turn.messages.slice(start) };
}

const hasImages = ({ messages }: Turn): boolean =>
  messages.some((message) => message.content.some((part) => part.type === "image"));

/** Where the turn after this one begins; undefined if it is the last. */
function nextTurn(messages: readonly Message[], start: number): number | undefined {
  const next = messages.findIndex((message, index) => index > start && message.role === "user");
  return next < 0 ? undefined : next;
}

const tooLong = (tokens: number, window: number, displayId: string) =>
  new ExcursorError(
    "context-overflow",
    `This conversation has about ${tokens} tokens; the model ${displayId} reads ${window}.`,
    {
      hint: "Shorten or compact it, choose a model with a larger window, or set context: trim.",
    },
  );
