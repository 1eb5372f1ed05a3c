import type { Awaitable } from "../../core/awaitable.ts";

/** Counts the requests of a minute. */
export interface RequestCounter {
  /** Counts one. Returns 0, or the milliseconds until another one is admitted; then it is not counted. */
  count(principalId: string, perMinute: number): Awaitable<number>;
}

const MINUTE_MS = 60_000;

/** Counts the requests of this process. A minute begins with the first of them. */
export class OwnRequestCounter implements RequestCounter {
  readonly #now: () => number;
  readonly #minutes = new Map<string, { readonly until: number; count: number }>();

  /** `now` is a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  count(principalId: string, perMinute: number): number {
    const now = this.#now();
    let minute = this.#minutes.get(principalId);
    if (!minute || minute.until <= now) {
      minute = { until: now + MINUTE_MS, count: 0 };
      this.#minutes.set(principalId, minute);
    }
    if (minute.count >= perMinute) return minute.until - now;
    minute.count++;
    return 0;
  }

  /** The last request was not admitted after all. */
  giveBack(principalId: string): void {
    const minute = this.#minutes.get(principalId);
    if (minute) minute.count--;
  }
}
