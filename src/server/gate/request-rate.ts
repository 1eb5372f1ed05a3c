import type { Awaitable } from "../../core/awaitable.ts";
import { Refusal } from "../refusal.ts";
import type { SharedGate } from "./shared-limits.ts";

const MINUTE_MS = 60_000;

/** Enforces the requests per minute of each principal that has such a limit. */
export class RequestRate {
  readonly #perMinuteOf: (principalId: string) => number | undefined;
  readonly #now: () => number;
  readonly #minutes = new Map<string, { readonly until: number; count: number }>();

  readonly #shared: SharedGate | undefined;

  /** `now` is a monotonic clock in milliseconds. `shared` counts the requests on all nodes. */
  constructor(
    perMinuteOf: (principalId: string) => number | undefined,
    now = () => performance.now(),
    shared?: SharedGate,
  ) {
    this.#shared = shared;
    this.#perMinuteOf = perMinuteOf;
    this.#now = now;
  }

  /** Counts a request, or refuses it. */
  admit(principalId: string): Awaitable<void> {
    const perMinute = this.#perMinuteOf(principalId);
    if (perMinute === undefined) return undefined;
    if (this.#shared) return this.#admitShared(this.#shared, principalId, perMinute);
    return this.#admitHere(principalId, perMinute, perMinute);
  }

  /** While the other nodes cannot be asked, this one has its share. */
  async #admitShared(shared: SharedGate, principalId: string, perMinute: number): Promise<void> {
    const waitMs = await shared.admit(principalId, perMinute);
    if (waitMs === undefined) {
      this.#admitHere(principalId, perMinute, perMinute);
    } else if (waitMs > 0) throw refusal(perMinute, waitMs);
  }

  #admitHere(principalId: string, most: number, perMinute: number): void {
    const now = this.#now();
    let minute = this.#minutes.get(principalId);
    if (!minute || minute.until <= now) {
      minute = { until: now + MINUTE_MS, count: 0 };
      this.#minutes.set(principalId, minute);
    }
    if (minute.count >= most) throw refusal(perMinute, minute.until - now);
    minute.count++;
  }
}

const refusal = (perMinute: number, waitMs: number): Refusal =>
  new Refusal(429, "requests_per_minute", [perMinute], {
    retryAfterMs: waitMs,
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
