import { ExcursorError } from "../../../core/errors.ts";
import { estimateFixedTokens, estimateInputTokens, estimateMessageTokens } from "../../../core/rules/usage-estimate.ts";
import type { Message, Turn } from "../../../core/turn.ts";
import type { ResolvedModel } from "../models/model.ts";
import { type ReferredCall, referredCalls } from "./referred-calls.ts";

export interface FittedTurn {
  readonly turn: Turn;
  /** The number of messages left out. */
  readonly trimmedMessages: number;
}

/**
 * Makes a turn fit the model. Throws before anything is sent if the model cannot read it: images, or too long a
 * conversation, which clients know how to compact. `trim` leaves out the oldest turns as a whole. A tool call that a
 * later message refers to is kept with its result.
 */
export function fitContext(turn: Turn, model: ResolvedModel, policy: "refuse" | "trim"): FittedTurn {
  const { contextTokens, displayId } = model;
  if (!model.supportsImages && hasImages(turn)) {
    throw new ExcursorError("images_unsupported", [displayId], { field: "messages" });
  }
  const { messages } = turn;
  const sizes = messages.map(estimateMessageTokens);
  const wholeTokens = sizes.reduce((sum, size) => sum + size, estimateFixedTokens(turn));
  if (wholeTokens <= contextTokens) return { turn, trimmedMessages: 0 };
  if (policy === "refuse") throw tooLong(wholeTokens, model, policy);
  const calls = referredCalls(messages);
  const keptTokens = keptCallTokens(calls, messages.length);
  let [tailTokens, start, least] = [wholeTokens, 0, wholeTokens];
  for (const next of laterTurns(messages).toReversed()) {
    for (; start < next; start++) tailTokens -= sizes[start] ?? 0;
    const tokens = tailTokens + (keptTokens[start] ?? 0);
    least = Math.min(least, tokens);
    if (tokens > contextTokens) continue;
    const kept = calls.filter(({ callAt, lastNeededAt }) => callAt < start && start <= lastNeededAt);
    const trimmed = { ...turn, messages: [...kept.flatMap(keptMessages(start)), ...messages.slice(start)] };
    return { turn: trimmed, trimmedMessages: start - keptPlaces(kept, start) };
  }
  throw tooLong(least, model, policy);
}

/**
 * Explains a refusal without a reason: of a request that fills at least half of the context window it means that the
 * window is exceeded, since the backend adds much of its own. Returns other errors as they are.
 */
export function overflowOr(error: ExcursorError, { turn, model }: AskedTurn): ExcursorError {
  const tokens = estimateInputTokens(turn);
  if (error.code !== "refused_without_reason" || 2 * tokens < model.contextTokens) return error;
  const { contextTokens, displayId } = model;
  return new ExcursorError(
    "context-overflow",
    `The backend refused a request of about ${tokens} tokens. The context window of ${displayId} has ${contextTokens}, and the backend's own instructions need a part of it.`,
    { context: error.context },
  );
}

interface AskedTurn {
  readonly turn: Turn;
  readonly model: ResolvedModel;
}

/** Returns a kept call as messages: the call, and its result unless that is kept anyway. */
const keptMessages =
  (start: number) =>
  ({ call, result, resultAt }: ReferredCall): readonly Message[] => [
    { role: "assistant", content: [call] },
    ...(result && resultAt < start ? [result] : []),
  ];

/** Counts the messages before the cut that survive in kept calls. Calls of one message count once. */
const keptPlaces = (kept: readonly ReferredCall[], start: number): number =>
  new Set(kept.flatMap(({ callAt, result, resultAt }) => (result && resultAt < start ? [callAt, resultAt] : [callAt])))
    .size;

/** Returns the tokens of the kept calls for each possible cut, as running sums. */
function keptCallTokens(calls: readonly ReferredCall[], length: number): readonly number[] {
  const changes = new Array<number>(length + 1).fill(0);
  const add = (from: number, until: number, tokens: number) => {
    if (from > until) return;
    changes[from] = (changes[from] ?? 0) + tokens;
    changes[until + 1] = (changes[until + 1] ?? 0) - tokens;
  };
  for (const { call, callAt, result, resultAt, lastNeededAt } of calls) {
    add(callAt + 1, lastNeededAt, estimateMessageTokens({ role: "assistant", content: [call] }));
    if (result) add(resultAt + 1, lastNeededAt, estimateMessageTokens(result));
  }
  let sum = 0;
  return changes.map((change) => (sum += change));
}

const hasImages = ({ messages }: Turn): boolean =>
  messages.some((message) => message.content.some((part) => part.type === "image"));

/** Returns where later turns begin, last one first. A user message before a result begins none. */
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
  const what = isTrimmed ? "The part of this conversation that cannot be trimmed" : "This conversation";
  return new ExcursorError(
    "context-overflow",
    `${what} has about ${tokens} tokens, but the context window of ${displayId} has ${contextTokens}.`,
    {
      hint: isTrimmed
        ? "Shorten the last turn, the instructions or the tools, or choose a model with a larger context window."
        : "Shorten or compact it, choose a model with a larger context window, or set context to trim.",
    },
  );
}
