import type { OnSpent, Run } from "../../driver.ts";
import type { TurnEvent, Usage } from "../../events.ts";
import { addUsage, estimateInputTokens, subtractUsage, UsageEstimate } from "../../rules/usage-estimate.ts";
import type { RunMeter, UsageOrigin } from "../../run-meter.ts";
import type { Message, ToolMessage, Turn } from "../../turn.ts";

/**
 * Wraps a run so that its tokens are counted, however it ends. Input is charged with the first event, output at the end: by
 * the upstream's figures, else by our estimate. A run that is cancelled before its first event is charged for its input,
 * since that was sent. A run that fails before its first event costs nothing.
 */
export function meteredRun(run: Run, turn: Turn, counters: Counters, countsWholeRun = false): Run {
  let leg = new Leg(turn, turn.messages, counters);
  /** Ends the run if it has reached a limit. */
  const limit = () => {
    try {
      leg.grow();
    } catch (error) {
      leg.end();
      run.cancel();
      throw error;
    }
  };
  return {
    [Symbol.asyncIterator]() {
      const source = run[Symbol.asyncIterator]();
      return {
        next: () =>
          source.next().then(
            (result) => {
              if (result.done) leg.end();
              else {
                leg.see(result.value);
                limit();
              }
              return result;
            },
            (error) => {
              leg.fail();
              throw error;
            },
          ),
        return: async () => {
          leg.end();
          await source.return?.();
          return { done: true, value: undefined };
        },
      };
    },
    submitResults(results: readonly ToolMessage[], history: readonly Message[]) {
      if (!run.submitResults(results, history)) return false;
      const earlier = countsWholeRun ? leg.sum : undefined;
      leg = new Leg(turn, history, counters, earlier);
      return true;
    },
    cancel() {
      leg.end();
      run.cancel();
    },
  };
}

/** Both are told the same tokens: `onSpent` as they are used, `meter` at the end and by kind. */
export interface Counters {
  readonly onSpent: OnSpent;
  readonly meter: RunMeter | undefined;
}

/** The part of a run up to a `done`; each submission of results begins another one. */
class Leg {
  readonly #asked: Turn;
  readonly #counters: Counters;
  /** What the parts before this one were told to have used, if the upstream reports whole runs. */
  readonly #earlier: Usage | undefined;
  readonly #estimate: UsageEstimate;
  #given: Usage | undefined;
  #charged = 0;
  #inputTokens = 0;
  #hasBegun = false;
  #isDone = false;
  #isOver = false;
  #used: Usage | undefined;

  constructor(turn: Turn, messages: readonly Message[], counters: Counters, earlier?: Usage) {
    this.#asked = { ...turn, messages };
    this.#counters = counters;
    this.#earlier = earlier;
    this.#estimate = new UsageEstimate(this.#asked);
  }

  see(events: readonly TurnEvent[]): void {
    if (this.#isOver) return;
    this.#estimate.step(events);
    for (const event of events) {
      if (event.type === "notice") continue;
      this.#begin();
      if (event.type === "usage") this.#given = event.usage;
      if (event.type === "done") this.#isDone = true;
    }
    if (this.#isDone) this.end();
  }

  fail(): void {
    if (this.#hasBegun) this.end();
    this.#isOver = true;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { usage, origin } = this.#total();
    this.#used = usage;
    this.#chargeUpTo(usage.inputTokens + usage.outputTokens);
    this.#counters.meter?.used(usage, origin);
  }

  /** What this part and the parts before it have used. */
  get sum(): Usage | undefined {
    if (!this.#used || !this.#earlier) return this.#used ?? this.#earlier;
    return addUsage(this.#earlier, this.#used);
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#inputTokens = estimateInputTokens(this.#asked);
    this.#chargeUpTo(this.#inputTokens);
  }

  /** Throws if the meter says that a limit is reached. */
  grow(): void {
    const { meter } = this.#counters;
    if (!this.#isOver && meter?.grow) meter.grow(this.#inputTokens, this.#estimate.outputTokens);
  }

  #total(): { readonly usage: Usage; readonly origin: UsageOrigin } {
    const given = this.#given;
    const isExact = given?.isEstimate === false;
    if (isExact && this.#isDone) {
      return { usage: this.#earlier ? subtractUsage(given, this.#earlier) : given, origin: "upstream" };
    }
    const estimate = this.#estimate.soFar();
    if (!given) return { usage: estimate, origin: "estimate" };
    return {
      usage: {
        ...given,
        inputTokens: isExact ? given.inputTokens : Math.max(given.inputTokens, estimate.inputTokens),
        outputTokens: Math.max(given.outputTokens, estimate.outputTokens),
        isEstimate: true,
      },
      origin: "running",
    };
  }

  #chargeUpTo(total: number): void {
    const tokens = total - this.#charged;
    this.#charged = total;
    if (tokens !== 0) this.#counters.onSpent(tokens);
  }
}
