import { Refusal } from "../refusal.ts";

const MINUTE_MS = 60_000;

/** Enforces the requests per minute of each principal that has such a limit. */
export class RequestRate {
  readonly #perMinuteOf: (principalId: string) => number | undefined;
  readonly #now: () => number;
  readonly #minutes = new Map<string, { readonly until: number; count: number }>();

  /** `now` is a monotonic clock in milliseconds. */
  constructor(perMinuteOf: (principalId: string) => number | undefined, now = () => performance.now()) {
    this.#perMinuteOf = perMinuteOf;
    this.#now = now;
  }

  /** Counts a request, or refuses it. */
  admit(principalId: string): void {
    const perMinute = this.#perMinuteOf(principalId);
    if (perMinute === undefined) return;
    const now = this.#now();
    let minute = this.#minutes.get(principalId);
    if (!minute || minute.until <= now) {
      minute = { until: now + MINUTE_MS, count: 0 };
      this.#minutes.set(principalId, minute);
    }
    if (minute.count >= perMinute) {
      const waitMs = minute.until - now;
      throw new Refusal(429, "rate-limited", `This key has reached its limit of ${perMinute} requests per minute.`, {
        code: "requests_per_minute",
        hint: "Wait, or ask the owner of the gateway for a higher limit.",
        retryAfterMs: waitMs,
        headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
      });
    }
    minute.count++;
  }
}
