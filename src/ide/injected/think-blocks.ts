import { type ThinkPart, ThinkSplitter } from "../../core/thinking/think-splitter.ts";

/**
 * What runs inside the IDE. It is made into a string by `npm run generate`; three guards in the IDE's own class call it.
 * It reaches nothing but the adapter it is handed, and the clock.
 */

/** The IDE's object that writes an answer into the chat; one lives for a whole agent loop. */
interface Adapter {
  handleTextDelta(text: string, ...rest: unknown[]): unknown;
  handleThinkingDelta(text: string): unknown;
  handleThinkingCompleted(update: unknown): unknown;
}

interface State {
  readonly splitter: ThinkSplitter;
  /** What came with the last text besides it. */
  rest: readonly unknown[];
  /** When the open block began to be shown. */
  thinkingSince: number | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** We are calling the original ourselves. */
  isInside: boolean;
}

/** How long a beginning of a tag may wait for its end. */
const HOLD_MS = 500;
/** The IDE shows a shorter thought as one that cannot be opened. */
const MIN_THINKING_MS = 1000;
/** After these, what came before is over: a block does not go on behind a tool call or in the next turn. */
const BOUNDARIES: ReadonlySet<unknown> = new Set([
  "thinkingDelta",
  "toolCallStarted",
  "partialToolCall",
  "userMessageAppended",
  "summaryStarted",
  "stepStarted",
  "stepCompleted",
  "turnEnded",
]);

const states = new WeakMap<Adapter, State>();

/** For `handleTextDelta`: true if the text has been dealt with, and the original shall not run. */
export function text(adapter: Adapter, args: ArrayLike<unknown>): boolean {
  const [delta, ...rest] = Array.from(args);
  const state = stateOf(adapter);
  if (state.isInside || typeof delta !== "string" || delta === "") return false;
  state.rest = rest;
  stopTimer(state);
  const parts = state.splitter.push(delta);
  const [first] = parts;
  if (parts.length === 1 && first?.type === "text" && first.text === delta) return false;
  show(adapter, state, parts);
  if (state.splitter.isHolding) state.timer = setTimeout(() => release(adapter, state), HOLD_MS);
  return true;
}

/** For `sendUpdate`, before anything else: sees what is not text. */
export function update(adapter: Adapter, args: ArrayLike<unknown>): void {
  for (const argument of Array.from(args)) {
    const message = (argument as { message?: { case?: unknown } } | null | undefined)?.message;
    if (BOUNDARIES.has(message?.case)) end(adapter);
  }
}

/** For `dispose`, before anything else: nothing that was held is lost, and no block stays open. */
export function dispose(adapter: Adapter): void {
  end(adapter);
  states.delete(adapter);
}

function end(adapter: Adapter): void {
  const state = states.get(adapter);
  if (!state || state.isInside) return;
  stopTimer(state);
  show(adapter, state, state.splitter.end());
}

function release(adapter: Adapter, state: State): void {
  state.timer = undefined;
  try {
    show(adapter, state, state.splitter.release());
  } catch (error) {
    // Nobody waits for a timer: a throw here would be an uncaught error of the IDE's.
    console.error("[excursor] held text could not be shown", error);
  }
}

function show(adapter: Adapter, state: State, parts: readonly ThinkPart[]): void {
  state.isInside = true;
  try {
    for (const part of parts) {
      if (part.type === "text") adapter.handleTextDelta(part.text, ...state.rest);
      else if (part.type === "thinking") {
        state.thinkingSince ??= Date.now();
        adapter.handleThinkingDelta(part.text);
      } else if (part.type === "thinking-done") complete(adapter, state);
    }
  } finally {
    state.isInside = false;
  }
}

/** The versions of the IDE read the duration in two different places: this has both. */
function complete(adapter: Adapter, state: State): void {
  const since = state.thinkingSince;
  state.thinkingSince = undefined;
  // An empty block was never shown.
  if (since === undefined) return;
  const thinkingDurationMs = Math.max(MIN_THINKING_MS, Date.now() - since);
  adapter.handleThinkingCompleted({
    thinkingDurationMs,
    message: { case: "thinkingCompleted", value: { thinkingDurationMs } },
  });
}

function stateOf(adapter: Adapter): State {
  let state = states.get(adapter);
  if (!state) {
    state = {
      splitter: new ThinkSplitter(),
      rest: [],
      thinkingSince: undefined,
      timer: undefined,
      isInside: false,
    };
    states.set(adapter, state);
  }
  return state;
}

function stopTimer(state: State): void {
  clearTimeout(state.timer);
  state.timer = undefined;
}
