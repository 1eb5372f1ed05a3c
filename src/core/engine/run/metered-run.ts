import type { Driver, Run, RunContext } from "../../driver.ts";
import type { TurnEvent, Usage } from "../../events.ts";
import { addUsage, estimateInputTokens, NO_USAGE, subtractUsage, UsageEstimate } from "../../rules/usage-estimate.ts";
import type { RunEnding, RunMeter, RunWatch, UsageOrigin } from "../../run-meter.ts";
import type { Message, ToolMessage, Turn } from "../../turn.ts";

/**
 * Opens a run so that its tokens are counted, however it ends: by the upstream's figures, else by our estimate. A run that is
 * cancelled before its first event has used its input, since that was sent. A run that fails before its first event has
 * used nothing. If the upstream reports its figures after the end, they replace the estimate.
 */
export function openMetered(
  driver: Pick<Driver, "open" | "countsWholeRuns">,
  turn: Turn,
  context: RunContext,
  client: Metered,
): Run {
  const watch = client.meter?.opens?.();
  let leg = new MeteredPart(turn, turn.messages, client, watch);
  const run = driver.open(turn, {
    ...context,
    onSent: watch && ((upstream) => watch.sent(upstream)),
    onLateUsage: (usage) => leg.correct(usage),
    onLateError: () => watch?.ended("failed"),
    onLost: () => {
      leg.lose();
      context.onLost?.();
    },
  });
  /** Ends the run if it has reached a limit. */
  const limit = () => {
    try {
      leg.grow();
    } catch (error) {
      leg.end("cancelled");
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
              if (result.done) leg.end("failed");
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
          leg.end("cancelled");
          await source.return?.();
          return { done: true, value: undefined };
        },
      };
    },
    submitResults(results: readonly ToolMessage[], history: readonly Message[]) {
      if (!run.submitResults(results, history)) return false;
      if (watch) client.meter?.goesOn?.(watch);
      leg = new MeteredPart(turn, history, client, watch, driver.countsWholeRuns ? leg.sum : undefined);
      return true;
    },
    cancel() {
      leg.cancel();
      run.cancel();
    },
  };
}

/** Has the meter of the request that the run answers now. */
export interface Metered {
  readonly meter: RunMeter | undefined;
}

/** The part of a run up to a `done`; each submission of results begins another one. */
class MeteredPart {
  readonly #asked: Turn;
  readonly #client: Metered;
  readonly #watch: RunWatch | undefined;
  /** What the parts before this one were told to have used, if the upstream reports whole runs. */
  readonly #earlier: Usage | undefined;
  readonly #estimate: UsageEstimate;
  #given: Usage | undefined;
  #inputTokens: number | undefined;
  #hasBegun = false;
  #isDone = false;
  #ending: RunEnding | undefined;
  #used: Usage | undefined;
  #isCorrected = false;

  constructor(turn: Turn, messages: readonly Message[], client: Metered, watch: RunWatch | undefined, earlier?: Usage) {
    this.#asked = { ...turn, messages };
    this.#client = client;
    this.#watch = watch;
    this.#earlier = earlier;
    this.#estimate = new UsageEstimate(this.#asked);
  }

  see(events: readonly TurnEvent[]): void {
    if (this.#ending) return;
    this.#estimate.step(events);
    let ending: RunEnding = "completed";
    for (const event of events) {
      if (event.type === "notice") continue;
      this.#hasBegun = true;
      if (event.type === "usage") this.#given = event.usage;
      if (event.type !== "done") continue;
      this.#isDone = true;
      if (event.reason === "tool-calls") ending = "parked";
    }
    if (this.#isDone) this.end(ending);
  }

  fail(): void {
    if (this.#hasBegun) this.end("failed");
    else if (!this.#ending) this.#endFree("failed");
  }

  /** The upstream has ended the run while it waits. */
  lose(): void {
    if (this.#ending === "parked") this.#endFree("failed");
  }

  /** The run is cancelled, whether it was running or waiting. */
  cancel(): void {
    if (this.#ending === "parked") this.#endFree("cancelled");
    else this.end("cancelled");
  }

  end(ending: RunEnding): void {
    if (this.#ending) return;
    this.#ending = ending;
    const { usage, origin } = this.#total();
    this.#used = usage;
    this.#client.meter?.used(usage, origin);
    this.#watch?.ended(ending, { usage, origin });
  }

  /** Ends it without a cost of its own. */
  #endFree(ending: RunEnding): void {
    this.#ending = ending;
    this.#watch?.ended(ending);
  }

  /** Replaces what was counted by the figures of the upstream, after the end. */
  correct(given: Usage): void {
    if (!this.#ending || this.#isCorrected) return;
    this.#isCorrected = true;
    const whole = this.#earlier ? subtractUsage(given, this.#earlier) : given;
    const difference = subtractUsage(whole, this.#used ?? NO_USAGE);
    this.#used = whole;
    this.#watch?.corrected(difference);
  }

  /** What this part and the parts before it have used. */
  get sum(): Usage | undefined {
    if (!this.#used || !this.#earlier) return this.#used ?? this.#earlier;
    return addUsage(this.#earlier, this.#used);
  }

  /** Throws if the meter says that a limit is reached. */
  grow(): void {
    const { meter } = this.#client;
    if (this.#ending || !this.#hasBegun || !meter?.grow) return;
    this.#inputTokens ??= estimateInputTokens(this.#asked);
    meter.grow(this.#inputTokens, this.#estimate.outputTokens);
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
}
