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
 * The answer to one request: the events of its run, passed through the rules, up to `done`.
 *
 * The first `next` starts the run. The run is cancelled when the reader leaves or a rule ends the answer. If a resumed run
 * fails before its first event, a new run takes its place and the client does not notice.
 *
 * This is the hot path: a batch costs one more promise and no turn of the event loop. An async generator would cost three
 * promises for every token of a slow stream.
 */
export class AnswerStream implements AsyncIterableIterator<readonly TurnEvent[]> {
  readonly #runs: AnswerRuns;
  readonly #options: AnswerOptions;
  readonly #said: AssistantPart[] = [];
  /** Text since the last tool call; unset if the text need not be kept. */
  #text: GatheredText | undefined;
  #notices: readonly TurnEvent[];
  #live: LiveRun | undefined;
  #source: AsyncIterator<readonly TurnEvent[]> | undefined;
  #isResumed = false;
  #hasBegun = false;
  #isOver = false;

  constructor(runs: AnswerRuns, options: AnswerOptions) {
    this.#runs = runs;
    this.#options = options;
    this.#notices = options.notices;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<readonly TurnEvent[], undefined>> {
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    if (this.#notices.length > 0) {
      const value = this.#notices;
      this.#notices = [];
      return Promise.resolve({ done: false, value });
    }
    try {
      this.#source ??= this.#start();
      return this.#source.next().then(this.#onBatch, this.#onError);
    } catch (error) {
      this.#end();
      return Promise.reject(error);
    }
  }

  return(): Promise<IteratorResult<readonly TurnEvent[], undefined>> {
    if (!this.#isOver) this.#live?.cancel();
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  #start(): AsyncIterator<readonly TurnEvent[]> {
    const resumed = this.#runs.resume();
    this.#isResumed = resumed !== undefined;
    this.#options.signal.addEventListener("abort", this.#onAbort, { once: true });
    return this.#follow(resumed ?? this.#runs.start());
  }

  #follow(live: LiveRun): AsyncIterator<readonly TurnEvent[]> {
    this.#live = live;
    if (this.#options.signal.aborted) live.cancel();
    return live.events();
  }

  readonly #onAbort = () => this.#live?.cancel();

  readonly #onBatch = (result: IteratorResult<readonly TurnEvent[]>) => {
    const live = this.#live;
    if (result.done || !live) {
      this.#end();
      throw new ExcursorError("upstream-protocol", "The upstream ended its answer without finishing it.");
    }
    // Notices come before the upstream has done any work.
    if (!this.#hasBegun && result.value.some(({ type }) => type !== "notice")) {
      this.#hasBegun = true;
      this.#options.observer?.phase("first-event", performance.now());
    }
    let events = live.rename(result.value);
    for (const rule of this.#options.rules) events = rule.step(events);
    // A resumed run knows its tools from before, even if this request offers none.
    if (this.#options.mayWait || this.#isResumed || this.#options.observer?.answered) this.#remember(events);
    const last = events.at(-1);
    if (last === undefined) return this.next();
    if (last.type === "done") {
      const ending = result.value.at(-1);
      const isUpstreamOver = ending?.type === "done" && ending.reason !== "tool-calls";
      this.#options.observer?.answered?.(this.#answer());
      if (last.reason === "tool-calls") this.#runs.park(live, this.#answer());
      // A rule ended the answer: the run may go on, or wait for results that never come.
      else if (!isUpstreamOver) live.cancel();
      this.#end();
    }
    return { done: false, value: events } as const;
  };

  /** After the first event the answer may have cost or done something, so no error is marked as worth a retry. */
  readonly #onError = (thrown: unknown) => {
    if (this.#isResumed && !this.#hasBegun && !this.#options.signal.aborted) {
      this.#isResumed = false;
      this.#live?.cancel();
      this.#source = this.#follow(this.#runs.replaceStalled());
      return this.next();
    }
    this.#end();
    const error = ExcursorError.from(thrown);
    throw this.#hasBegun && error.retryable ? error.with({ retryable: false }) : error;
  };

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#options.observer?.phase("ended", performance.now());
  }

  #remember(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "text") this.#keepText(event.text);
      if (event.type !== "tool-call") continue;
      this.#takeText();
      this.#said.push(event);
    }
  }

  #keepText(text: string): void {
    this.#text ??= new GatheredText();
    this.#text.add(text);
  }

  #answer(): AssistantMessage {
    this.#takeText();
    return { role: "assistant", content: this.#said };
  }

  #takeText(): void {
    const text = this.#text?.take() ?? "";
    if (text !== "") this.#said.push({ type: "text", text });
  }
}
