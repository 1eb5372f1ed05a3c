import { ExcursorError } from "../errors.ts";
import type { TurnEvent } from "../events.ts";
import type { AssistantMessage, AssistantPart } from "../turn.ts";
import { GatheredText } from "./gathered-text.ts";
import type { LiveRun } from "./live-run.ts";

/** A rule that every batch of an answer passes. Pure but for its own state; it may end the answer by a `done`. */
export interface Rule {
  step(events: readonly TurnEvent[]): readonly TurnEvent[];
}

export interface AnswerParts {
  /** The run that was parked for this, if there is one. */
  readonly resume: () => LiveRun | undefined;
  /** A new one, which is told the conversation from the transcript. */
  readonly start: () => LiveRun;
  /** What is known before anybody has said anything. */
  readonly first: readonly TurnEvent[];
  /** The parked one has failed before it said anything; a new one takes its place. */
  readonly onStalled: () => void;
  readonly rules: readonly Rule[];
  /** Of the request; while it is being answered, the run is cancelled with it. */
  readonly signal: AbortSignal;
  /** The run waits for tool results, and this is what it has said: it is somebody else's to keep now. */
  readonly onWaiting: (live: LiveRun, answer: AssistantMessage) => void;
  /** Whether it may come to that, so that what it says must be remembered. */
  readonly mayWait: boolean;
}

/**
 * A run, seen through the rules that apply to it, up to its `done`. A batch costs one more promise, and no turn of
 * the event loop: an async generator would cost three, for every token of a slow stream.
 *
 * The run is started by the first `next`, and cancelled when the reader leaves or a rule ends the answer. A parked one
 * that fails before it has said anything is replaced by a new one, and nobody notices.
 */
export class AnswerStream implements AsyncIterableIterator<readonly TurnEvent[]> {
  readonly #parts: AnswerParts;
  readonly #said: AssistantPart[] = [];
  /** Only where it is remembered. */
  #text: GatheredText | undefined;
  #first: readonly TurnEvent[];
  #live: LiveRun | undefined;
  #source: AsyncIterator<readonly TurnEvent[]> | undefined;
  #isResumed = false;
  #hasBegun = false;
  #isOver = false;

  constructor(parts: AnswerParts) {
    this.#parts = parts;
    this.#first = parts.first;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<readonly TurnEvent[], undefined>> {
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    if (this.#first.length > 0) {
      const value = this.#first;
      this.#first = [];
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
    const { resume, start, signal } = this.#parts;
    const parked = resume();
    this.#isResumed = parked !== undefined;
    signal.addEventListener("abort", this.#onAbort, { once: true });
    return this.#follow(parked ?? start());
  }

  #follow(live: LiveRun): AsyncIterator<readonly TurnEvent[]> {
    this.#live = live;
    if (this.#parts.signal.aborted) live.cancel();
    return live.events();
  }

  readonly #onAbort = () => this.#live?.cancel();

  readonly #onBatch = (result: IteratorResult<readonly TurnEvent[]>) => {
    const live = this.#live;
    if (result.done || !live) {
      this.#end();
      throw new ExcursorError("upstream-protocol", "The upstream ended its answer without finishing it.");
    }
    // A notice has cost nothing yet.
    this.#hasBegun ||= result.value.some(({ type }) => type !== "notice");
    let events = live.rename(result.value);
    for (const stage of this.#parts.rules) events = stage.step(events);
    // One that has called before may call again, whatever this request says of tools.
    if (this.#parts.mayWait || this.#isResumed) this.#remember(events);
    const last = events.at(-1);
    if (last === undefined) return this.next();
    if (last.type === "done") {
      this.#end();
      const ending = result.value.at(-1);
      const isUpstreamOver = ending?.type === "done" && ending.reason !== "tool-calls";
      if (last.reason === "tool-calls") this.#parts.onWaiting(live, this.#answer());
      // A rule may have ended the answer before its calls: nobody will ever bring their results.
      else if (!isUpstreamOver) live.cancel();
    }
    return { done: false, value: events } as const;
  };

  /** An answer that has begun may have cost something or done something: no client shall ask again by itself. */
  readonly #onError = (thrown: unknown) => {
    if (this.#isResumed && !this.#hasBegun && !this.#parts.signal.aborted) {
      this.#isResumed = false;
      this.#live?.cancel();
      this.#parts.onStalled();
      this.#source = this.#follow(this.#parts.start());
      return this.next();
    }
    this.#end();
    const error = ExcursorError.from(thrown);
    throw this.#hasBegun && error.retryable ? error.with({ retryable: false }) : error;
  };

  #end(): void {
    this.#isOver = true;
    this.#parts.signal.removeEventListener("abort", this.#onAbort);
  }

  #remember(events: readonly TurnEvent[]): void {
    for (const event of events) {
      if (event.type === "text") this.#heard(event.text);
      if (event.type !== "tool-call") continue;
      this.#takeText();
      this.#said.push(event);
    }
  }

  #heard(text: string): void {
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
