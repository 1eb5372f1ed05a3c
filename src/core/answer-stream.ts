import type { Run } from "./driver.ts";
import { ExcursorError } from "./errors.ts";
import type { TurnEvent } from "./events.ts";

/** A rule that every batch of an answer passes. Pure but for its own state; it may end the answer by a `done`. */
export interface Stage {
  step(events: readonly TurnEvent[]): readonly TurnEvent[];
}

/**
 * A run, seen through the rules that apply to it, up to its `done`. A batch costs one more promise, and no turn of
 * the event loop: an async generator would cost three, for every token of a slow stream.
 *
 * The run is opened by the first `next`, and cancelled when the reader leaves, when a rule ends the answer, or when it
 * waits for tool results.
 */
export class AnswerStream implements AsyncIterableIterator<readonly TurnEvent[]> {
  readonly #open: () => Run;
  readonly #stages: readonly Stage[];
  #run: Run | undefined;
  #source: AsyncIterator<readonly TurnEvent[]> | undefined;
  #hasBegun = false;
  #isOver = false;

  constructor(open: () => Run, stages: readonly Stage[]) {
    this.#open = open;
    this.#stages = stages;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<readonly TurnEvent[], undefined>> {
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined });
    try {
      this.#run ??= this.#open();
      this.#source ??= this.#run[Symbol.asyncIterator]();
      return this.#source.next().then(this.#onBatch, this.#onError);
    } catch (error) {
      this.#isOver = true;
      return Promise.reject(error);
    }
  }

  return(): Promise<IteratorResult<readonly TurnEvent[], undefined>> {
    if (!this.#isOver) this.#run?.cancel();
    this.#isOver = true;
    return Promise.resolve({ done: true, value: undefined });
  }

  readonly #onBatch = (result: IteratorResult<readonly TurnEvent[]>) => {
    if (result.done) {
      this.#isOver = true;
      throw new ExcursorError("upstream-protocol", "The upstream ended its answer without finishing it.");
    }
    this.#hasBegun = true;
    let events = result.value;
    for (const stage of this.#stages) events = stage.step(events);
    const last = events.at(-1);
    if (last === undefined) return this.next();
    if (last.type === "done") {
      this.#isOver = true;
      const isUpstreamOver = result.value.at(-1)?.type === "done" && last.reason !== "tool-calls";
      if (!isUpstreamOver) this.#run?.cancel();
    }
    return { done: false, value: events } as const;
  };

  /** An answer that has begun may have cost something or done something: no client shall ask again by itself. */
  readonly #onError = (thrown: unknown): never => {
    this.#isOver = true;
    const error = ExcursorError.from(thrown);
    throw this.#hasBegun ? error.with({ retryable: false }) : error;
  };
}
