import { type ThinkPart, ThinkSplitter } from "../../core/thinking/think-splitter.ts";

/**
 * The code that runs inside the IDE. `npm run generate` bundles it into a string. Three guards in the IDE's own class
 * call it. It uses nothing but the adapter it is given, and the clock.
 */

/** The IDE's object that writes an answer into the chat. It lives for a whole agent loop. */
interface Adapter {
  handleTextDelta(text: string, ...rest: unknown[]): unknown;
  handleThinkingDelta(text: string): unknown;
  handleThinkingCompleted(update: unknown): unknown;
}

interface State {
  readonly splitter: ThinkSplitter;
  /** The other arguments of the last text. */
  rest: readonly unknown[];
  /** When the open thinking block was first shown. */
  thinkingSince: number | undefined;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** True while we call the original method ourselves. */
  isInside: boolean;
}

/** How long an incomplete tag is held back. */
const HOLD_MS = 500;
/** The IDE shows shorter thinking as a block that cannot be opened. */
const MIN_THINKING_MS = 1000;
/** These updates end the open block: thinking does not continue after a tool call or in the next turn. */
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

/** Guard of `handleTextDelta`. Returns true if the text was handled and the original must not run. */
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

/** Guard of `sendUpdate`. Ends the open block at updates that are not text. */
export function update(adapter: Adapter, args: ArrayLike<unknown>): void {
  for (const argument of Array.from(args)) {
    const message = (argument as { message?: { case?: unknown } } | null | undefined)?.message;
    if (BOUNDARIES.has(message?.case)) end(adapter);
  }
}

/** Guard of `dispose`. Shows text that was held back, and closes the open block. */
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
    // A throw from a timer would be an uncaught error of the IDE.
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

/** IDE versions read the duration in two different places; this sets both. */
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
