const DAY_MS = 24 * 3_600_000;

/**
 * The clock of limits. If the wall clock is set back by less than a day, this one stands still, so that a window that is
 * over, and perhaps used up, does not come back. A clock that is set back further was wrong before.
 */
export class HeldClock {
  readonly #wallClock: () => number;
  #latest = 0;

  /** `wallClock` returns milliseconds since the epoch. */
  constructor(wallClock: () => number = Date.now) {
    this.#wallClock = wallClock;
  }

  now(): number {
    const now = this.#wallClock();
    if (now >= this.#latest || this.#latest - now >= DAY_MS) this.#latest = now;
    return this.#latest;
  }

  /** Returns when something counts that happened at `ms` by the wall clock. */
  timeOf(ms: number): number {
    return ms + this.now() - this.#wallClock();
  }
}
