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
  const later = policy === "trim" ? laterTurns(turn.messages) : [];
  while (tokens > contextTokens) {
    const next = later.pop();
    if (next === undefined) throw tooLong(tokens, model, policy);
    for (; start < next; start++) tokens -= sizes[start] ?? 0;
  }
  return start === 0 ? turn : { ...turn, messages: turn.messages.slice(start) };
}

const hasImages = ({ messages }: Turn): boolean =>
  messages.some((message) => message.content.some((part) => part.type === "image"));

/**
 * Where the turns after the first begin, the last of them first. Some clients put a word of the user's between a call
 * and its result: such a word begins no turn.
 */
function laterTurns(messages: readonly Message[]): number[] {
  const starts: number[] = [];
  let follower: Message["role"] | undefined;
  for (let index = messages.length - 1; index > 0; index--) {
    const role = messages[index]?.role;
    if (role !== "user") follower = role;
    else if (follower !== "tool") starts.push(index);
  }
  return starts;
}

function tooLong(tokens: number, { contextTokens, displayId }: ResolvedModel, policy: "refuse" | "trim") {
  const isTrimmed = policy === "trim";
  const what = isTrimmed ? "What cannot be left out of this conversation" : "This conversation";
  return new ExcursorError(
    "context-overflow",
    `${what} has about ${tokens} tokens; the model ${displayId} reads ${contextTokens}.`,
    {
      hint: isTrimmed
        ? "Shorten the last turn, the instructions or the tools, or choose a model with a larger window."
        : "Shorten or compact it, choose a model with a larger window, or set context: trim.",
    },
  );
}
