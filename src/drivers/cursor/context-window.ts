import { ExcursorError } from "../../core/errors.ts";
import { type Message, type Turn, textOf } from "../../core/turn.ts";
import type { ResolvedModel } from "./models/model.ts";

/** Rough, and on the generous side of the truth for prose. */
const CHARACTERS_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 1500;

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
      hint: "Choose another model, or leave the images out.",
    });
  }
  const sizes = turn.messages.map(tokensOf);
  let tokens = sizes.reduce((sum, size) => sum + size, tokensBeside(turn));
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

const tokensBeside = ({ system, tools }: Turn): number =>
  Math.ceil((system.length + (tools.length === 0 ? 0 : JSON.stringify(tools).length)) / CHARACTERS_PER_TOKEN);

function tokensOf({ content }: Message): number {
  let characters = textOf(content).length;
  let images = 0;
  for (const part of content) {
    if (part.type === "image") images++;
    if (part.type === "file") characters += part.text.length;
    if (part.type === "tool-call") characters += JSON.stringify(part.args).length;
  }
  return Math.ceil(characters / CHARACTERS_PER_TOKEN) + images * TOKENS_PER_IMAGE;
}
