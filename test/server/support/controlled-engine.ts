import type { ModelInfo, RequestContext, SlashCommand } from "../../../src/core/driver.ts";
import { ExcursorError } from "../../../src/core/errors.ts";
import type { TurnEvent } from "../../../src/core/events.ts";
import type { Turn } from "../../../src/core/turn.ts";

/** One answer in a test's hands. */
export class ControlledAnswer implements AsyncIterable<readonly TurnEvent[]> {
  readonly turn: Turn;
  readonly context: RequestContext;
  /** How often the gateway has asked for more. */
  pulls = 0;
  /** The gateway has left before the end. */
  isLeft = false;
  /** Resolves with the reason when it is aborted. */
  readonly aborted: Promise<unknown>;
  readonly #batches: (readonly TurnEvent[] | Error | "end")[] = [];
  #wake = () => {};

  constructor(turn: Turn, context: RequestContext) {
    this.turn = turn;
    this.context = context;
    this.aborted = new Promise((resolve) => {
      context.signal.addEventListener("abort", () => {
        resolve(context.signal.reason);
        this.#give(context.signal.reason);
      });
    });
  }

  say(...texts: string[]): void {
    this.events(...texts.map((text): TurnEvent => ({ type: "text", text })));
  }

  events(...events: TurnEvent[]): void {
    this.#give(events);
  }

  finish(): void {
    const usage = {
      inputTokens: 7,
      outputTokens: 5,
      cachedTokens: 0,
      cacheWrittenTokens: 0,
      reasoningTokens: 0,
      isEstimate: false,
    };
    this.context.meter?.used(usage, "upstream");
    this.events({ type: "usage", usage }, { type: "done", reason: "stop" });
    this.#give("end");
  }

  /** Stops without a `done`. */
  breakOff(): void {
    this.#give("end");
  }

  fail(error: Error): void {
    this.#give(error);
  }

  #give(batch: readonly TurnEvent[] | Error | "end"): void {
    this.#batches.push(batch);
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<readonly TurnEvent[]> {
    let isOver = false;
    try {
      while (true) {
        this.pulls++;
        while (this.#batches.length === 0) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
        const batch = this.#batches.shift();
        if (batch instanceof Error || batch === "end" || batch === undefined) {
          isOver = true;
          if (batch instanceof Error) throw batch;
          return;
        }
        yield batch;
      }
    } finally {
      this.isLeft = !isOver;
    }
  }
}

/** An engine whose answers a test writes as it goes. */
export class ControlledEngine {
  readonly answers: ControlledAnswer[] = [];
  readonly models: readonly ModelInfo[];
  #waiting: ((answer: ControlledAnswer) => void)[] = [];
  #taken = 0;

  constructor(models: readonly ModelInfo[]) {
    this.models = models;
  }

  run(turn: Turn, context: RequestContext): ControlledAnswer {
    const answer = new ControlledAnswer(turn, context);
    this.answers.push(answer);
    const waiting = this.#waiting.shift();
    if (waiting) {
      this.#taken++;
      waiting(answer);
    }
    return answer;
  }

  passOn(): Promise<never> {
    return Promise.reject(new ExcursorError("unsupported", "Nothing is passed on here."));
  }

  /** The next answer that is asked for. */
  next(): Promise<ControlledAnswer> {
    const ready = this.answers[this.#taken];
    if (ready) {
      this.#taken++;
      return Promise.resolve(ready);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Lets go of the answers so far. */
  forget(): void {
    this.answers.length = 0;
    this.#taken = 0;
  }

  findModel(name: string): Promise<ModelInfo> {
    return Promise.reject(new ExcursorError("model-not-found", `There is no model ${name}.`));
  }

  listCommands(): Promise<readonly SlashCommand[]> {
    return Promise.resolve([]);
  }

  listModels(): Promise<readonly ModelInfo[]> {
    return Promise.resolve(this.models);
  }
}
