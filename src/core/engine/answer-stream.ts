import { ExcursorError } from "../errors.ts";
import type { TurnEvent } from "../events.ts";
import type { RunObserver } from "../run-observer.ts";
import type { AssistantMessage, AssistantPart } from "../turn.ts";
import { GatheredText } from "./gathered-text.ts";
import type { LiveRun } from "./run/live-run.ts";

/** A rule that every batch of an answer passes. Pure but for its own state; it may end the answer by a `done`. */
export interface Rule {
  step(events: readonly TurnEvent[]): readonly TurnEvent[];
}

/** Where the run of an answer comes from, and where it goes when it waits for tool results. */
export interface AnswerRuns {
  resume(): LiveRun | undefined;
  start(): LiveRun;
  replaceStalled(): LiveRun;
  park(live: LiveRun, said: AssistantMessage): void;
}

export interface AnswerOptions {
  /** Notices that are known before the run starts; they come first. */
  readonly notices: readonly TurnEvent[];
  readonly rules: readonly Rule[];
  /** The request's signal: aborting it cancels the run while it is being read. */
  readonly signal: AbortSignal;
  readonly observer?: RunObserver | undefined;
  /** True if the run can end in tool calls, so its text must be kept. */
  readonly mayWait: boolean;
}

/**
 * Answers one request: the events of its run, passed through the rules, up to `done`.
 *
 * The first `next` starts the run. The run is cancelled when the reader leaves or a rule ends the answer. If a resumed run
 * fails before its first event, a new run takes its place and the client does not notice.
 */
export async function* streamAnswer(
  runs: AnswerRuns,
  { notices, rules, signal, observer, mayWait }: AnswerOptions,
): AsyncGenerator<readonly TurnEvent[], undefined> {
  const said = new SaidParts();
  let live: LiveRun | undefined;
  let hasBegun = false;
  let isOver = false;
  const onAbort = () => live?.cancel();
  const end = () => {
    if (isOver) return;
    isOver = true;
    signal.removeEventListener("abort", onAbort);
    observer?.phase("ended", performance.now());
  };
  const follow = (next: LiveRun) => {
    live = next;
    if (signal.aborted) live.cancel();
    return { live, source: live.events() };
  };
  try {
    if (notices.length > 0) yield notices;
    const resumed = runs.resume();
    let isResumed = resumed !== undefined;
    signal.addEventListener("abort", onAbort, { once: true });
    let current = follow(resumed ?? runs.start());
    while (!isOver) {
      const result = await current.source.next().catch((error) => {
        if (!isResumed || hasBegun || signal.aborted) throw error;
        return undefined;
      });
      if (!result) {
        isResumed = false;
        current.live.cancel();
        current = follow(runs.replaceStalled());
        continue;
      }
      if (result.done) {
        throw new ExcursorError("upstream-protocol", "The upstream ended its answer without finishing it.");
      }
      // Notices come before the upstream has done any work.
      if (!hasBegun && result.value.some(({ type }) => type !== "notice")) {
        hasBegun = true;
        observer?.phase("first-event", performance.now());
      }
      let events = current.live.rename(result.value);
      for (const rule of rules) events = rule.step(events);
      // A resumed run knows its tools from before, even if this request offers none.
      if (mayWait || isResumed || observer?.answered) said.add(events);
      const last = events.at(-1);
      if (last?.type === "done") {
        const ending = result.value.at(-1);
        const isUpstreamOver = ending?.type === "done" && ending.reason !== "tool-calls";
        observer?.answered?.(said.message(), last.reason);
        if (last.reason === "tool-calls") runs.park(current.live, said.message());
        // A rule ended the answer: the run may go on, or wait for results that never come.
        else if (!isUpstreamOver) current.live.cancel();
        end();
      }
      if (last) yield events;
    }
  } catch (thrown) {
    end();
    const error = ExcursorError.from(thrown);
    // After the first event the answer may have cost or done something, so no error is marked as worth a retry.
    throw hasBegun && error.retryable ? error.with({ retryable: false }) : error;
  } finally {
    if (!isOver) live?.cancel();
    end();
  }
}

/** What the model has said: texts and tool calls. */
class SaidParts {
  readonly #parts: AssistantPart[] = [];
  /** Since the last tool call. */
  readonly #text = new GatheredText();

  add(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "text") this.#text.add(event.text);
      if (event.type !== "tool-call") continue;
      this.#takeText();
      this.#parts.push(event);
    }
  }

  message(): AssistantMessage {
    this.#takeText();
    return { role: "assistant", content: this.#parts };
  }

  #takeText(): void {
    const text = this.#text.take();
    if (text !== "") this.#parts.push({ type: "text", text });
  }
}
