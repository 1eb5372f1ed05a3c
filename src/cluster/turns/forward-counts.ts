/**
 * What became of turns that belong to another gateway, and of messages for its runs of Cursor's clients over HTTP/1.1.
 * `forwarded`: its answer is complete, or it has taken the message. `gone`: the home node could not be reached, and the turn was
 * answered here. `failed`: the answer was cut, refused or cancelled, or the message was not taken. `served`: a turn of another
 * gateway was answered here, or a message from there was taken.
 */
type ForwardOutcome = "forwarded" | "gone" | "failed" | "served";

/** Counts forwarded turns and messages since the start. */
export class ForwardCounts {
  readonly #counts: Record<ForwardOutcome, number> = { forwarded: 0, gone: 0, failed: 0, served: 0 };

  add(outcome: ForwardOutcome): void {
    this.#counts[outcome]++;
  }

  get all(): Readonly<Record<ForwardOutcome, number>> {
    return this.#counts;
  }
}
