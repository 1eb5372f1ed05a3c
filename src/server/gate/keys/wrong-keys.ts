import { BoundedMap } from "../../../core/bounded-map.ts";
import { Refusal } from "../../refusal.ts";

const MINUTE_MS = 60_000;
const MAX_SOURCES = 10_000;

/** A client that repeats one wrong key is misconfigured, not guessing. */
const REPEAT_WEIGHT = 0.1;

/**
 * Counts wrong keys by source address. Above the limit they get 429 for the rest of the minute. The right key is never
 * delayed, since on loopback all clients share one address.
 */
export class WrongKeys {
  readonly #perMinute: number;
  readonly #now: () => number;
  readonly #sources = new BoundedMap<string, { readonly until: number; readonly digests: Set<string>; weight: number }>(
    MAX_SOURCES,
  );

  constructor(perMinute: number, now: () => number = () => performance.now()) {
    this.#perMinute = perMinute;
    this.#now = now;
  }

  refuse(address: string, digest: string): Refusal {
    const now = this.#now();
    let source = this.#sources.get(address);
    if (!source || source.until <= now) {
      source = { until: now + MINUTE_MS, digests: new Set(), weight: 0 };
      this.#sources.set(address, source);
    }
    source.weight += source.digests.has(digest) ? REPEAT_WEIGHT : 1;
    if (source.weight <= this.#perMinute) {
      source.digests.add(digest);
      return wrongKey();
    }
    // The random part spreads the retries, and hides the exact end of the minute.
    return tooMany(source.until - now + Math.random() * 5000);
  }
}

export const missingKey = (): Refusal =>
  new Refusal(401, "missing_api_key", [], { headers: { "www-authenticate": "Bearer" } });

const wrongKey = (): Refusal => new Refusal(401, "invalid_api_key", [], { headers: { "www-authenticate": "Bearer" } });

const tooMany = (retryAfterMs: number): Refusal =>
  new Refusal(429, "too_many_wrong_keys", [], {
    retryAfterMs,
    headers: { "retry-after": String(Math.ceil(retryAfterMs / 1000)) },
  });
