import { type Awaitable, after } from "../../core/awaitable.ts";
import { Refusal } from "../refusal.ts";
import { OwnRequestCounter, type RequestCounter } from "./request-counter.ts";

/** Enforces the requests per minute of each principal that has such a limit. */
export class RequestRate {
  readonly #perMinuteOf: (principalId: string) => number | undefined;
  readonly #counter: RequestCounter;

  constructor(
    perMinuteOf: (principalId: string) => number | undefined,
    counter: RequestCounter = new OwnRequestCounter(),
  ) {
    this.#perMinuteOf = perMinuteOf;
    this.#counter = counter;
  }

  /** Counts a request, or refuses it. */
  admit(principalId: string): Awaitable<void> {
    const perMinute = this.#perMinuteOf(principalId);
    if (perMinute === undefined) return undefined;
    return after(this.#counter.count(principalId, perMinute), (waitMs) => {
      if (waitMs > 0) throw refusal(perMinute, waitMs);
    });
  }
}

const refusal = (perMinute: number, waitMs: number): Refusal =>
  new Refusal(429, "requests_per_minute", [perMinute], {
    retryAfterMs: waitMs,
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
