import type { TurnEvent, Usage } from "../events.ts";
import type { Message, Turn } from "../turn.ts";

/** A rule of thumb for English prose and code. */
export const CHARS_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 1000;

/**
 * Makes every answer end with usage and one `done`. If the upstream has reported no usage, it is estimated from the request
 * and the answer, and marked as an estimate. Other batches are passed on as they are.
 */
export class UsageEstimate {
  readonly #turn: Turn;
  #wasGiven = false;
  #textChars = 0;
  #thinkingChars = 0;
  /** Ids of calls whose arguments were counted as they were streamed. */
  #streamed: Set<string> | undefined;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  step(events: readonly TurnEvent[]): readonly TurnEvent[] {
    for (let index = 0; index < events.length; index++) {
      const event = events[index] as TurnEvent;
      if (event.type === "text") this.#textChars += event.text.length;
      else if (event.type === "thinking") this.#thinkingChars += event.text.length;
      else if (event.type === "tool-call-delta") this.#countPiece(event.id, event.json);
      else if (event.type === "tool-call") this.#countCall(event);
      else if (event.type === "usage") this.#wasGiven = true;
      else if (event.type === "done") {
        if (this.#wasGiven) return index === events.length - 1 ? events : events.slice(0, index + 1);
        return [...events.slice(0, index), { type: "usage", usage: this.soFar() }, event];
      }
    }
    return events;
  }

  /** Pieces are counted at once, since some calls are never completed. */
  #countPiece(id: string, json: string): void {
    this.#streamed ??= new Set();
    this.#streamed.add(id);
    this.#textChars += json.length;
  }

  #countCall({ id, name, args }: Extract<TurnEvent, { type: "tool-call" }>): void {
    this.#textChars += name.length + (this.#streamed?.has(id) ? 0 : JSON.stringify(args).length);
  }

  /** The estimated output so far. */
  get outputTokens(): number {
    return tokensIn(this.#textChars) + tokensIn(this.#thinkingChars);
  }

  /** Returns the estimate for the answer so far. */
  soFar(): Usage {
    const reasoningTokens = tokensIn(this.#thinkingChars);
    return {
      inputTokens: estimateInputTokens(this.#turn),
      outputTokens: tokensIn(this.#textChars) + reasoningTokens,
      cachedTokens: 0,
      cacheWrittenTokens: 0,
      reasoningTokens,
      isEstimate: true,
    };
  }
}

/** Estimates how many tokens the model reads for a turn. */
export function estimateInputTokens(turn: Turn): number {
  return turn.messages.reduce((sum, message) => sum + estimateMessageTokens(message), estimateFixedTokens(turn));
}

/** Estimates the tokens of instructions and tools. */
export function estimateFixedTokens({ system, tools }: Turn): number {
  let chars = system.length;
  for (const tool of tools) chars += tool.name.length + tool.description.length + JSON.stringify(tool.schema).length;
  return tokensIn(chars);
}

export function estimateMessageTokens({ content }: Message): number {
  let chars = 0;
  let images = 0;
  for (const part of content) {
    if (part.type === "image") images++;
    else if (part.type === "tool-call") chars += part.name.length + JSON.stringify(part.args).length;
    else chars += part.text.length;
  }
  return tokensIn(chars) + images * TOKENS_PER_IMAGE;
}

export const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  cacheWrittenTokens: 0,
  reasoningTokens: 0,
  isEstimate: false,
};

/** Adds up the usage of two runs for one answer. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  cacheWrittenTokens: a.cacheWrittenTokens + b.cacheWrittenTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  isEstimate: a.isEstimate || b.isEstimate,
});

/** Returns what `whole` has more than `part`. */
export const subtractUsage = (whole: Usage, part: Usage): Usage => ({
  inputTokens: whole.inputTokens - part.inputTokens,
  outputTokens: whole.outputTokens - part.outputTokens,
  cachedTokens: whole.cachedTokens - part.cachedTokens,
  cacheWrittenTokens: whole.cacheWrittenTokens - part.cacheWrittenTokens,
  reasoningTokens: whole.reasoningTokens - part.reasoningTokens,
  isEstimate: whole.isEstimate,
});

export const tokensIn = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);
