import type { OnSpent } from "../../core/driver.ts";
import { Refusal } from "../refusal.ts";
import type { KnownKeys } from "./known-keys.ts";

/** The persistent token counts of keys, per day. */
export interface DayTokens {
  /** Returns the tokens of a key on a day such as `2026-11-15`. */
  spent(keyId: string, day: string): number;
  spend(keyId: string, day: string, tokens: number): void;
}

export interface AllowanceOptions {
  readonly keys: KnownKeys;
  readonly dayTokens: DayTokens;
  /** A monotonic clock in milliseconds, for the requests per minute. */
  readonly now?: () => number;
  /** Milliseconds since the epoch, for the day. */
  readonly wallClock?: () => number;
}

export interface Meter {
  readonly onSpent: OnSpent;
  /** Releases the unused part of the reservation. `onSpent` may still be called afterwards. */
  end(): void;
}

/** The requests of one key in progress. */
interface UnderWay {
  /** Tokens reserved for requests in progress and not spent yet. */
  reserved: number;
  /** Moving average of the tokens per request. */
  usual: number;
}

/** Weight of the latest request in the moving average. */
const LATEST = 0.2;

/** `retry-after` when requests in progress have reserved the rest. Most have ended by then. */
const UNDER_WAY_MS = 10_000;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Enforces the requests per minute and tokens per day of each issued key. */
export class KeyAllowance {
  readonly #keys: KnownKeys;
  readonly #dayTokens: DayTokens;
  readonly #now: () => number;
  readonly #wallClock: () => number;
  #latest = 0;
  readonly #underWay = new Map<string, UnderWay>();
  readonly #minutes = new Map<string, { readonly until: number; count: number }>();

  constructor({ keys, dayTokens, now = () => performance.now(), wallClock = Date.now }: AllowanceOptions) {
    this.#keys = keys;
    this.#dayTokens = dayTokens;
    this.#now = now;
    this.#wallClock = wallClock;
  }

  /** Counts a request, or refuses it. Principals without an issued key have no limits. */
  admit(principalId: string): void {
    const limits = this.#keys.withId(principalId)?.limits;
    if (limits?.requestsPerMinute !== undefined) this.#countRequest(principalId, limits.requestsPerMinute);
    if (limits?.tokensPerDay !== undefined) this.#checkTokens(principalId, limits.tokensPerDay);
  }

  /**
   * Starts to count the tokens of a request. Returns undefined if the key has no daily limit. Reserves the larger of
   * the input and the key's average, and refuses the request if nothing is left to reserve.
   */
  meterOf(principalId: string, inputTokens: () => number): Meter | undefined {
    const perDay = this.#keys.withId(principalId)?.limits.tokensPerDay;
    if (perDay === undefined) return undefined;
    this.#checkTokens(principalId, perDay);
    const underWay = this.#underWayOf(principalId);
    if (this.#dayTokens.spent(principalId, dayOf(this.#today())) + underWay.reserved >= perDay) {
      const message = `This key may use ${perDay} tokens per day (UTC), and its running requests may need the rest.`;
      throw refusal("rate-limited", "tokens_per_day", message, UNDER_WAY_MS);
    }
    let reserved = Math.max(inputTokens(), underWay.usual);
    let spent = 0;
    underWay.reserved += reserved;
    const release = (tokens: number) => {
      const released = Math.min(reserved, Math.max(tokens, 0));
      reserved -= released;
      underWay.reserved -= released;
    };
    return {
      onSpent: (tokens) => {
        spent += tokens;
        release(tokens);
        this.#dayTokens.spend(principalId, dayOf(this.#today()), tokens);
      },
      end: () => {
        release(reserved);
        if (spent > 0) underWay.usual += (underWay.usual === 0 ? 1 : LATEST) * (spent - underWay.usual);
      },
    };
  }

  /** Returns the key's own limit of concurrent streams, if it has one. */
  streamsOf(principalId: string): number | undefined {
    return this.#keys.withId(principalId)?.limits.streams;
  }

  #underWayOf(id: string): UnderWay {
    const known = this.#underWay.get(id) ?? { reserved: 0, usual: 0 };
    this.#underWay.set(id, known);
    return known;
  }

  #countRequest(id: string, perMinute: number): void {
    const now = this.#now();
    let minute = this.#minutes.get(id);
    if (!minute || minute.until <= now) {
      minute = { until: now + MINUTE_MS, count: 0 };
      this.#minutes.set(id, minute);
    }
    if (minute.count >= perMinute) {
      const message = `This key has reached its limit of ${perMinute} requests per minute.`;
      throw refusal("rate-limited", "requests_per_minute", message, minute.until - now);
    }
    minute.count++;
  }

  #checkTokens(id: string, perDay: number): void {
    const today = this.#today();
    if (this.#dayTokens.spent(id, dayOf(today)) < perDay) return;
    const message = `This key has reached its limit of ${perDay} tokens per day (UTC).`;
    throw refusal("quota-exhausted", "tokens_per_day", message, DAY_MS - (today % DAY_MS));
  }

  /**
   * Returns the current time, held back by a clock that moves backwards by less than a day: a day that is over does not
   * return with its used-up tokens. A larger step back corrects a wrong clock.
   */
  #today(): number {
    const now = this.#wallClock();
    if (now >= this.#latest || this.#latest - now >= DAY_MS) this.#latest = now;
    return this.#latest;
  }
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

function refusal(kind: "rate-limited" | "quota-exhausted", code: string, message: string, waitMs: number): Refusal {
  return new Refusal(429, kind, message, {
    code,
    hint: "Wait, or ask the owner of the gateway for a higher limit.",
    retryAfterMs: waitMs,
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
}
