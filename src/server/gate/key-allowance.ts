import type { OnSpent } from "../../core/engine/metered-run.ts";
import { Refusal } from "../refusal.ts";
import type { KnownKeys } from "./known-keys.ts";

/** What keys have used, day by day; it outlives the process. */
export interface TokenLedger {
  /** Tokens of a key on a day such as `2026-11-15`. */
  spent(keyId: string, day: string): number;
  spend(keyId: string, day: string, tokens: number): void;
}

export interface AllowanceOptions {
  readonly keys: KnownKeys;
  readonly ledger: TokenLedger;
  /** Milliseconds that only grow, for the requests of a minute. */
  readonly now?: () => number;
  /** Milliseconds since the epoch, for the day. */
  readonly wallClock?: () => number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Holds each key to the requests of a minute and the tokens of a day that it was given. */
export class KeyAllowance {
  readonly #keys: KnownKeys;
  readonly #ledger: TokenLedger;
  readonly #now: () => number;
  readonly #wallClock: () => number;
  #latest = 0;
  readonly #minutes = new Map<string, { readonly until: number; count: number }>();

  constructor({ keys, ledger, now = () => performance.now(), wallClock = Date.now }: AllowanceOptions) {
    this.#keys = keys;
    this.#ledger = ledger;
    this.#now = now;
    this.#wallClock = wallClock;
  }

  /** Counts a request, or refuses it. Who has no key of these is not held to anything. */
  admit(principalId: string): void {
    const limits = this.#keys.withId(principalId)?.limits;
    if (limits?.requestsPerMinute !== undefined) this.#countRequest(principalId, limits.requestsPerMinute);
    if (limits?.tokensPerDay !== undefined) this.#checkTokens(principalId, limits.tokensPerDay);
  }

  /** Counts the tokens of one key; undefined if it may use as many as it likes. */
  meterOf(principalId: string): OnSpent | undefined {
    if (this.#keys.withId(principalId)?.limits.tokensPerDay === undefined) return undefined;
    return (tokens) => this.#ledger.spend(principalId, dayOf(this.#today()), tokens);
  }

  /** How many streamed answers at once, if that was said. */
  streamsOf(principalId: string): number | undefined {
    return this.#keys.withId(principalId)?.limits.streams;
  }

  #countRequest(id: string, perMinute: number): void {
    const now = this.#now();
    let minute = this.#minutes.get(id);
    if (!minute || minute.until <= now) {
      minute = { until: now + MINUTE_MS, count: 0 };
      this.#minutes.set(id, minute);
    }
    if (minute.count >= perMinute) {
      const message = `This key may make ${perMinute} requests in a minute, and has.`;
      throw refusal("rate-limited", "requests_per_minute", message, minute.until - now);
    }
    minute.count++;
  }

  #checkTokens(id: string, perDay: number): void {
    const today = this.#today();
    if (this.#ledger.spent(id, dayOf(today)) < perDay) return;
    const message = `This key may use ${perDay} tokens in a day (UTC), and has.`;
    throw refusal("quota-exhausted", "tokens_per_day", message, DAY_MS - (today % DAY_MS));
  }

  /**
   * A moment of the day that counts. A clock that is set back by less than a day does not bring back a day that is
   * over, and perhaps used up. One that is set back further was wrong before.
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
    hint: "Wait, or ask whoever gave you the key for a higher limit.",
    retryAfterMs: waitMs,
    headers: { "retry-after": String(Math.ceil(waitMs / 1000)) },
  });
}
