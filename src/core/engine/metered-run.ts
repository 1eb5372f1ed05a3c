import type { OnSpent, Run } from "../driver.ts";
import type { TurnEvent, Usage } from "../events.ts";
import { estimateInputTokens, UsageEstimate } from "../rules/usage-estimate.ts";
import type { Message, ToolMessage, Turn } from "../turn.ts";

/**
 * Wraps a run so that its tokens are counted, however it ends. Input is charged with the first event, output at the end: by
 * the upstream's figures, else by our estimate. A run that is cancelled before its first event is charged for its input,
 * since that was sent. A run that fails before its first event costs nothing.
 */
export function meteredRun(run: Run, turn: Turn, onSpent: OnSpent): Run {
  let leg = new Leg(turn, turn.messages, onSpent);
  return {
    [Symbol.asyncIterator]() {
      const source = run[Symbol.asyncIterator]();
      return {
        next: () =>
          source.next().then(
            (result) => {
              if (result.done) leg.end();
              else leg.see(result.value);
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
      leg = new Leg(turn, history, onSpent);
      return true;
    },
    cancel() {
      leg.end();
      run.cancel();
    },
  };
}

/** The part of a run up to a `done`; each submission of results begins another one. */
class Leg {
  readonly #asked: Turn;
  readonly #onSpent: OnSpent;
  readonly #estimate: UsageEstimate;
  #given: Usage | undefined;
  #charged = 0;
  #hasBegun = false;
  #isDone = false;
  #isOver = false;

  constructor(turn: Turn, messages: readonly Message[], onSpent: OnSpent) {
    this.#asked = { ...turn, messages };
    this.#onSpent = onSpent;
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
    this.#chargeUpTo(this.#total());
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    this.#chargeUpTo(estimateInputTokens(this.#asked));
  }

  #total(): number {
    const given = this.#given;
    const isExact = given?.isEstimate === false;
    if (isExact && this.#isDone) return given.inputTokens + given.outputTokens;
    const { inputTokens, outputTokens } = this.#estimate.soFar();
    const input = isExact ? given.inputTokens : Math.max(given?.inputTokens ?? 0, inputTokens);
    return input + Math.max(given?.outputTokens ?? 0, outputTokens);
  }

  #chargeUpTo(total: number): void {
    const tokens = total - this.#charged;
    this.#charged = total;
    if (tokens !== 0) this.#onSpent(tokens);
  }
}
