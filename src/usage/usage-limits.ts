import { ExcursorError } from "../core/errors.ts";
import { formatAmount, type Limit } from "./limit.ts";
import type { Spending } from "./usage-store.ts";

/** What a request is about to use, before it is sent. */
export interface Demand {
  readonly principalId: string;
  readonly model: string;
  readonly driver: string;
  readonly conversation: string;
  readonly inputTokens: number;
}

export interface UsageLimitsOptions {
  readonly limitsOf: (principalId: string) => readonly Limit[];
  readonly spent: (principalId: string, fromMs: number, untilMs: number) => Spending;
  readonly spentIn: (conversation: string) => Spending;
  /** Returns millionths of a dollar for so many tokens; undefined if the model has no price. */
  readonly costOf: (inputTokens: number, outputTokens: number, model: string, driver: string) => number | undefined;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** What is set aside for a request under way. */
export interface Reservation {
  /** The request has used so much by now. Throws if a limit is reached. */
  grow(inputTokens: number, outputTokens: number): void;
  /** The record of the request is stored, and counts from now on instead. */
  release(): void;
}

interface UnderWay {
  readonly demand: Demand;
  /** By unit of the limits. */
  readonly reserved: Amounts;
  used: Amounts;
}

type Amounts = Readonly<Record<Limit["unit"], number>>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const END_OF_TIME = 2 ** 42;

/** Few enough for the lowest tier of every price. */
const RATE_TOKENS = 10_000;

/** When to try again after requests under way have left no room; most are over by then. */
const UNDER_WAY_MS = 10_000;

/**
 * Holds keys to their limits. A request reserves its estimated input before it is sent, or what requests of the key have
 * used lately if that is more. Its reservation counts until its record is stored. An answer that reaches a limit is ended.
 */
export class UsageLimits {
  readonly #options: UsageLimitsOptions;
  readonly #now: () => number;
  readonly #underWay = new Set<UnderWay>();
  /** Tokens that a request of a principal has used lately. */
  readonly #usual = new Map<string, number>();
  #latest = 0;

  constructor(options: UsageLimitsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** Reserves what a request needs, or throws. Undefined if its principal has no limits. */
  reserve(demand: Demand): Reservation | undefined {
    const { principalId, inputTokens } = demand;
    const limits = this.#options.limitsOf(principalId);
    if (limits.length === 0) return undefined;
    const tokens = Math.max(inputTokens, this.#usual.get(principalId) ?? 0);
    // Prices are looked up once, and not with each batch of the answer.
    const rates = limits.some(({ unit }) => unit === "dollars") ? this.#ratesOf(demand) : { input: 0, output: 0 };
    const dollars = tokens * rates.input;
    for (const limit of limits) this.#admit(limit, demand);
    const entry: UnderWay = { demand, reserved: { tokens, dollars }, used: { tokens: 0, dollars: 0 } };
    this.#underWay.add(entry);
    return {
      grow: (input, output) => {
        entry.used = { tokens: input + output, dollars: input * rates.input + output * rates.output };
        for (const limit of limits) this.#check(limit, demand);
      },
      release: () => {
        this.#underWay.delete(entry);
        const { tokens: used } = entry.used;
        if (used > 0) this.#usual.set(principalId, Math.round(((this.#usual.get(principalId) ?? used) + used) / 2));
      },
    };
  }

  #admit(limit: Limit, demand: Demand): void {
    this.#check(limit, demand);
    const reserved = this.#sum(limit, demand, ({ reserved, used }) => Math.max(reserved[limit.unit], used[limit.unit]));
    if (this.#stored(limit, demand) + reserved < limit.amount) return;
    throw new ExcursorError(
      "rate-limited",
      `This key may use ${describe(limit)}, and its requests under way may need the rest.`,
      { code: "limit_reserved", hint: "Wait until one of them has ended.", retryAfterMs: UNDER_WAY_MS },
    );
  }

  /** Throws if what was used, by requests under way too, has reached the limit. */
  #check(limit: Limit, demand: Demand): void {
    const used = this.#stored(limit, demand) + this.#sum(limit, demand, (entry) => entry.used[limit.unit]);
    if (used < limit.amount) return;
    const { untilMs } = this.#window(limit);
    const resets = untilMs === END_OF_TIME ? "It does not reset." : `It resets at ${new Date(untilMs).toISOString()}.`;
    throw new ExcursorError(
      "quota-exhausted",
      `This key may use ${describe(limit)}, and has used ${formatAmount(limit.unit, used)}. ${resets}`,
      {
        hint: "Wait, or ask whoever gave you the key for a higher limit.",
        ...(untilMs !== END_OF_TIME && { retryAfterMs: untilMs - this.#moment() }),
      },
    );
  }

  #stored(limit: Limit, { principalId, conversation }: Demand): number {
    const { fromMs, untilMs } = this.#window(limit);
    const { tokens, micros } =
      limit.per === "conversation"
        ? this.#options.spentIn(conversation)
        : this.#options.spent(principalId, fromMs, untilMs);
    return limit.unit === "tokens" ? tokens : micros;
  }

  #sum({ per }: Limit, { principalId, conversation }: Demand, amountOf: (entry: UnderWay) => number): number {
    let sum = 0;
    for (const entry of this.#underWay) {
      if (entry.demand.principalId !== principalId) continue;
      if (per !== "conversation" || entry.demand.conversation === conversation) sum += amountOf(entry);
    }
    return sum;
  }

  #window({ per }: Limit): { readonly fromMs: number; readonly untilMs: number } {
    if (per === "total" || per === "conversation") return { fromMs: 0, untilMs: END_OF_TIME };
    const length = per === "hour" ? HOUR_MS : DAY_MS;
    const fromMs = Math.floor(this.#moment() / length) * length;
    return { fromMs, untilMs: fromMs + length };
  }

  /**
   * The time that counts. A clock that is set back by less than a day does not bring back a window that is over, and
   * perhaps used up. A clock that is set back further was wrong before.
   */
  #moment(): number {
    const now = this.#now();
    if (now >= this.#latest || this.#latest - now >= DAY_MS) this.#latest = now;
    return this.#latest;
  }

  /** Returns what a token costs, in millionths of a dollar. */
  #ratesOf({ model, driver }: Demand): { readonly input: number; readonly output: number } {
    const { costOf } = this.#options;
    const input = costOf(RATE_TOKENS, 0, model, driver);
    const output = costOf(0, RATE_TOKENS, model, driver);
    if (input !== undefined && output !== undefined) {
      return { input: input / RATE_TOKENS, output: output / RATE_TOKENS };
    }
    throw new ExcursorError("forbidden", `This key has a limit in dollars, and the model ${model} has no price.`, {
      code: "no_price",
      hint: "Add the model to the setting `prices`, or use a model that has a price.",
    });
  }
}

const describe = ({ amount, unit, per }: Limit): string =>
  `${formatAmount(unit, amount)} ${per === "total" ? "in total" : per === "conversation" ? "in a conversation" : `in one ${per} (UTC)`}`;
