import type { OnSpent } from "../../core/driver.ts";
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

/** Counts the tokens of one request. */
export interface Meter {
  readonly onSpent: OnSpent;
  /** Gives back what was set aside for the request and not used; it may still spend after that. */
  end(): void;
}

/** What one key has under way. */
interface UnderWay {
  /** Tokens that are set aside for requests and not spent yet. */
  reserved: number;
  /** What a request has cost lately; later ones count more. */
  usual: number;
}

/** How much the latest request changes what is usual. */
const LATEST = 0.2;

/** When to try again after requests under way have left no room; most are over by then. */
const UNDER_WAY_MS = 10_000;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Holds each key to the requests of a minute and the tokens of a day that it was given. */
export class KeyAllowance {
  readonly #keys: KnownKeys;
  readonly #ledger: TokenLedger;
  readonly #now: () => number;
  readonly #wallClock: () => number;
  #latest = 0;
  readonly #underWay = new Map<string, UnderWay>();
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

  /**
   * Begins to count the tokens of a request; undefined if the key may use as many as it likes. Sets aside what the
   * request will cost, by its input or by what is usual for the key, and refuses it if other requests have left nothing.
   */
  meterOf(principalId: string, inputTokens: () => number): Meter | undefined {
    const perDay = this.#keys.withId(principalId)?.limits.tokensPerDay;
    if (perDay === undefined) return undefined;
    this.#checkTokens(principalId, perDay);
    const underWay = this.#underWayOf(principalId);
    if (this.#ledger.spent(principalId, dayOf(this.#today())) + underWay.reserved >= perDay) {
      const message = `This key may use ${perDay} tokens in a day (UTC), and its requests under way may need the rest.`;
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
        this.#ledger.spend(principalId, dayOf(this.#today()), tokens);
      },
      end: () => {
        release(reserved);
        if (spent > 0) underWay.usual += (underWay.usual === 0 ? 1 : LATEST) * (spent - underWay.usual);
      },
    };
  }

  /** How many streamed answers at once, if that was said. */
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
