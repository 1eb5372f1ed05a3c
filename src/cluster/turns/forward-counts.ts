/**
 * What became of turns that belong to another gateway. `forwarded`: its answer is complete. `gone`: the home node could not be
 * reached, and the turn was answered here. `failed`: the answer was cut, refused or cancelled. `served`: a turn of another
 * gateway was answered here.
 */
type ForwardOutcome = "forwarded" | "gone" | "failed" | "served";

/** Counts forwarded turns since the start. */
export class ForwardCounts {
  readonly #counts: Record<ForwardOutcome, number> = { forwarded: 0, gone: 0, failed: 0, served: 0 };

  add(outcome: ForwardOutcome): void {
    this.#counts[outcome]++;
  }

  get all(): Readonly<Record<ForwardOutcome, number>> {
    return this.#counts;
  }
}
