import type { Awaitable } from "../../core/awaitable.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import { ExcursorError } from "../../core/errors.ts";
import { describeLimit, formatAmount, type Limit } from "../../core/limits/limit.ts";
import { LimitReached } from "../../core/limits/limit-reached.ts";
import type { Usual } from "../store/request-rows.ts";
import type { Spending } from "../store/spending.ts";
import type { HeldClock } from "./held-clock.ts";
import { NEVER, type Window, windowAt } from "./limit-window.ts";
import type { Count, SharedCounts } from "./shared-counts.ts";

/** What a request uses, in the units of limits. */
export type Amounts = Record<Exclude<Limit["unit"], "requests">, number>;

/** What a request is about to use, before it is sent. */
export interface Demand {
  readonly model: string;
  readonly driver: string;
  readonly conversation: string;
  readonly inputTokens: number;
}

export interface UsageLimitsOptions {
  readonly limitsOf: (principalId: string) => readonly Limit[];
  /** Returns the name of a key whose parked runs are kept when it reaches a limit; undefined for other keys. */
  readonly pausedName?: ((principalId: string) => string | undefined) | undefined;
  readonly spent: (principalId: string, fromMs: number, untilMs: number) => Spending;
  readonly spentInMinute: (principalId: string, fromMs: number) => Spending;
  readonly spentIn: (conversation: string, principalId: string) => Spending;
  /** Returns what a request of a principal has used on average before the start; undefined if that is not known. */
  readonly usual: (principalId: string) => Usual | undefined;
  /** Returns millionths of a dollar for so many tokens; undefined if the model has no price. */
  readonly costOf: (inputTokens: number, outputTokens: number, model: string, driver: string) => number | undefined;
  /** The same one as the store's. */
  readonly clock: HeldClock;
  /** Adds up what several processes count. Absent: this one is alone. */
  readonly shared?: SharedCounts | undefined;
  /** Returns when the limits of a principal were lifted last; 0 for never. */
  readonly liftedAt?: (principalId: string) => number;
}

/** What is set aside for a request under way. */
export interface Reservation {
  /** The request has used so much by now. Throws if a limit is reached. */
  grow(inputTokens: number, outputTokens: number): void;
  /**
   * The record of the request is stored, and counts from now on instead. `conversation` is that of the record: the one of a
   * first request is known when it is answered.
   */
  release(spent: Amounts, conversation?: string): void;
  /** The record has changed by so much. */
  correct(difference: Amounts): void;
}

type UsageLimit = Limit & { readonly unit: keyof Amounts };

/** The caller and the conversation of a request. */
type Asking = Pick<UnderWay, "principalId" | "conversation">;

/** How much of a limit is spent, and how much is left beside the requests under way. */
interface Rest {
  readonly stored: number;
  readonly left: number;
}

interface UnderWay {
  readonly principalId: string;
  /** By the clock of limits. */
  readonly startedAt: number;
  readonly conversation: string;
  /** Grows with what is used. */
  readonly reserved: Amounts;
  readonly used: Amounts;
}

/** Few enough for the lowest tier of every price. */
const RATE_TOKENS = 10_000;

/** When to try again after requests under way have left no room; most are over by then. */
const UNDER_WAY_MS = 10_000;

/** The part of a limit that a request reserves while nothing is known of the requests of its key. */
const FIRST_PART = 1 / 10;

/** Limits of principals and conversations of which is remembered what this process has spent. */
const MAX_REMEMBERED = 10_000;

/** By which part of what it has used an answer extends its reservation. */
const EXTENSION = 1 / 8;

/** Other processes are asked for more when this part of what is reserved is used, so that the answer need not wait. */
const EARLY = 3 / 4;

/**
 * Holds keys to their limits. A request reserves its estimated input before it is sent, or what requests of the key usually
 * use if that is more. An answer that needs more extends its reservation, and is ended if there is nothing left. So the
 * requests of a key pass a limit by no more than one reservation, as far as upstreams use what was estimated.
 */
export class UsageLimits {
  readonly #options: UsageLimitsOptions;
  readonly #underWay = new Set<UnderWay>();
  /** What a request of a principal usually uses. */
  readonly #usual = new Map<string, Usual>();
  /** What this process has spent since its start, by limit and window. */
  readonly #spent = new BoundedMap<string, number>(MAX_REMEMBERED);

  constructor(options: UsageLimitsOptions) {
    this.#options = options;
  }

  /** Reserves what a request needs, or throws. Undefined if its principal has no limits. */
  reserve(principalId: string, demandOf: () => Demand): Awaitable<Reservation | undefined> {
    const limits = this.#options.limitsOf(principalId).filter(isOfUsage);
    if (limits.length === 0) return undefined;
    // Those that no answer is ended by come last, so that the others keep their places without them.
    limits.sort((a, b) => Number(isOfMinute(a)) - Number(isOfMinute(b)));
    const demand = demandOf();
    // Prices are looked up once, and not with each batch of the answer.
    const rates = limits.some(({ unit }) => unit === "dollars") ? this.#ratesOf(demand) : { input: 0, output: 0 };
    const usual = this.#usualOf(principalId, limits);
    const entry: UnderWay = {
      principalId,
      startedAt: this.#options.clock.now(),
      conversation: demand.conversation,
      reserved: {
        tokens: Math.max(demand.inputTokens, usual.tokens),
        dollars: Math.max(demand.inputTokens * rates.input, usual.dollars),
      },
      used: { tokens: 0, dollars: 0 },
    };
    for (const limit of limits) this.#admit(limit, entry);
    const { shared } = this.#options;
    if (shared) return this.#reserveShared(shared, limits, entry, rates);
    return this.#begin(entry, rates, () => this.#extend(limits, entry));
  }

  /** Reserves here, and asks the other processes. If they do not reply, what is counted here decides alone. */
  async #reserveShared(
    shared: SharedCounts,
    limits: readonly UsageLimit[],
    entry: UnderWay,
    rates: Rates,
  ): Promise<Reservation> {
    const { principalId } = entry;
    const names = limits.map((limit) => this.#namesOf(limit, principalId));
    // Those that end no answer are the last ones.
    const lasting = limits.filter((limit) => !isOfMinute(limit));
    const countsOf = (asking: Asking, of = limits, wanted?: Amounts) =>
      of.map((limit, at): Count => {
        const name = names[at]?.(asking.conversation) ?? "";
        const held = this.#held(limit, asking);
        const { amount, unit } = limit;
        return { name, amount, spent: this.#spent.get(name) ?? 0, held, wanted: Math.min(wanted?.[unit] ?? 0, held) };
      });
    const claim = async (of: readonly UsageLimit[], wanted: Amounts): Promise<Error | undefined> => {
      const verdict = of.length === 0 ? undefined : await shared.claim(countsOf(entry, of, wanted));
      if (verdict?.type === "room") confine(of, entry, wanted, verdict.left);
      if (!verdict || verdict.type === "room") return undefined;
      const limit = of[verdict.at];
      if (!limit) return undefined;
      return verdict.type === "reached" ? this.#reached(limit, entry, verdict.spent) : underWayHolds(limit);
    };
    let refusal: Error | undefined;
    let isAsking = false;
    const uses = (part: number) => lasting.some(({ unit }) => entry.used[unit] > entry.reserved[unit] * part);
    const extend = () => {
      if (refusal && uses(1)) throw refusal;
      this.#extend(limits, entry);
      if (isAsking || refusal || !uses(EARLY)) return;
      isAsking = true;
      const wanted = this.#more(lasting, entry);
      for (const unit of ["tokens", "dollars"] as const) entry.reserved[unit] += wanted[unit];
      void claim(lasting, wanted).then((refused) => {
        isAsking = false;
        refusal = refused;
        if (refused) for (const unit of ["tokens", "dollars"] as const) entry.reserved[unit] -= wanted[unit];
      });
    };
    const begun = this.#begin(entry, rates, extend);
    const refused = await claim(limits, entry.reserved);
    if (refused) {
      this.#underWay.delete(entry);
      // What was told meanwhile had it set aside.
      shared.tell(countsOf(entry));
      throw refused;
    }
    let settled: Asking = entry;
    const count = (spent: Amounts) => {
      for (const [at, { unit }] of limits.entries()) {
        const name = names[at]?.(settled.conversation) ?? "";
        this.#spent.set(name, (this.#spent.get(name) ?? 0) + spent[unit]);
      }
      shared.tell(countsOf(settled));
    };
    return {
      ...begun,
      release: (spent, answered = entry.conversation) => {
        begun.release(spent, answered);
        if (answered !== entry.conversation) shared.tell(countsOf(entry));
        settled = { principalId, conversation: answered };
        count(spent);
      },
      correct: (difference) => count(difference),
    };
  }

  /** How much more an answer sets aside: as much as it has used, if there is so much left here. */
  #more(limits: readonly UsageLimit[], entry: UnderWay): Amounts {
    const wanted = { tokens: 0, dollars: 0 };
    for (const unit of ["tokens", "dollars"] as const) {
      const left = limits.filter((limit) => limit.unit === unit).map((limit) => this.#rest(limit, entry).left);
      if (left.length > 0) wanted[unit] = Math.max(0, Math.min(2 * entry.used[unit] - entry.reserved[unit], ...left));
    }
    return wanted;
  }

  /** Returns the names by which processes count a limit in the window of now, one for each conversation if it has its own. */
  #namesOf(limit: UsageLimit, principalId: string): (conversation: string) => string {
    const { unit, window } = limit;
    const { fromMs } = this.#window(limit);
    const liftedAt = this.#options.liftedAt?.(principalId) ?? 0;
    return (conversation) =>
      JSON.stringify([principalId, unit, window, fromMs, liftedAt, window === "conversation" ? conversation : null]);
  }

  #begin(entry: UnderWay, rates: Rates, extend: () => void): Reservation {
    const { principalId } = entry;
    this.#underWay.add(entry);
    return {
      grow: (input, output) => {
        entry.used.tokens = input + output;
        entry.used.dollars = input * rates.input + output * rates.output;
        extend();
      },
      release: ({ tokens, dollars }) => {
        this.#underWay.delete(entry);
        // The last request of a run may have a negative amount, which corrects earlier estimates.
        if (tokens <= 0) return;
        const before = this.#usual.get(principalId) ?? { tokens, dollars };
        const usual = { tokens: (before.tokens + tokens) / 2, dollars: (before.dollars + dollars) / 2 };
        this.#usual.set(principalId, usual);
      },
      correct: () => {},
    };
  }

  #admit(limit: UsageLimit, asking: UnderWay): void {
    const stored = this.#stored(limit, asking);
    const used = stored + this.#sum(limit, asking, (entry) => entry.used[limit.unit]);
    if (used >= limit.amount) throw this.#reached(limit, asking, used);
    if (stored + this.#held(limit, asking) < limit.amount) return;
    throw underWayHolds(limit);
  }

  /** Extends what a request has reserved if it has used more. Throws if there is nothing left. */
  #extend(limits: readonly UsageLimit[], entry: UnderWay): void {
    const { used, reserved } = entry;
    const more = new Map<keyof Amounts, number>();
    for (const limit of limits) {
      const { unit } = limit;
      if (used[unit] <= reserved[unit] || isOfMinute(limit)) continue;
      const { left, stored } = this.#rest(limit, entry);
      if (left <= 0) throw this.#reached(limit, entry, stored + this.#sum(limit, entry, (one) => one.used[unit]));
      more.set(unit, Math.min(left, more.get(unit) ?? used[unit] * EXTENSION));
    }
    for (const [unit, amount] of more) reserved[unit] = used[unit] + amount;
  }

  #rest(limit: UsageLimit, entry: UnderWay): Rest {
    const stored = this.#stored(limit, entry);
    return { left: limit.amount - stored - this.#held(limit, entry), stored };
  }

  #reached(limit: UsageLimit, { principalId }: UnderWay, used: number): ExcursorError {
    const { untilMs } = this.#window(limit);
    const rest = used < limit.amount ? ", and its other requests under way may need the rest" : "";
    const resets = untilMs === NEVER ? "It does not reset." : `It resets at ${new Date(untilMs).toISOString()}.`;
    const message = `This key may use ${describeLimit(limit)}, and has used ${formatAmount(limit.unit, Math.round(used))}${rest}. ${resets}`;
    const retryAfterMs = untilMs - this.#options.clock.now();
    // A minute is soon over, so the run of a follow-up waits for it.
    if (isOfMinute(limit)) {
      return new ExcursorError("tokens_per_minute", [describeLimit(limit), `${Math.round(used)}${rest}`], {
        retryAfterMs,
      });
    }
    const paused = this.#options.pausedName?.(principalId);
    return new LimitReached(message, paused !== undefined, {
      hint:
        paused === undefined
          ? `${limit.window === "conversation" ? "Begin another conversation" : "Wait"}, or ask the owner of the gateway for a higher limit.`
          : `The run is kept. Send the same request again after the owner of the gateway has run: excursor limits lift ${paused}`,
      ...(untilMs !== NEVER && { retryAfterMs }),
    });
  }

  #stored(limit: UsageLimit, { principalId, conversation }: Asking): number {
    const { fromMs, untilMs } = this.#window(limit);
    const { spent, spentInMinute, spentIn } = this.#options;
    if (limit.window === "conversation") return spentIn(conversation, principalId)[limit.unit];
    if (isOfMinute(limit)) return spentInMinute(principalId, fromMs)[limit.unit];
    return spent(principalId, fromMs, untilMs)[limit.unit];
  }

  /** What the requests under way have reserved, or used if that is more. */
  #held(limit: UsageLimit, asking: Asking): number {
    return this.#sum(limit, asking, ({ reserved, used }) => Math.max(reserved[limit.unit], used[limit.unit]));
  }

  #sum(limit: Limit, asking: Asking, amountOf: (entry: UnderWay) => number): number {
    let sum = 0;
    // A long answer counts for the minute in which it began.
    const fromMs = isOfMinute(limit) ? this.#window(limit).fromMs : 0;
    for (const entry of this.#underWay) {
      if (entry.principalId !== asking.principalId || entry.startedAt < fromMs) continue;
      if (limit.window !== "conversation" || entry.conversation === asking.conversation) sum += amountOf(entry);
    }
    return sum;
  }

  #window(limit: Pick<Limit, "window">): Window {
    return windowAt(limit, this.#options.clock.now());
  }

  /** A moving average. It begins with the average of the record, or a part of the limits if that has nothing. */
  #usualOf(principalId: string, limits: readonly UsageLimit[]): Usual {
    const known = this.#usual.get(principalId) ?? this.#options.usual(principalId);
    if (!known)
      return { tokens: lowest(limits, "tokens") * FIRST_PART, dollars: lowest(limits, "dollars") * FIRST_PART };
    this.#usual.set(principalId, known);
    return known;
  }

  /** Returns what a token costs, in millionths of a dollar. */
  #ratesOf({ model, driver }: Demand): Rates {
    const { costOf } = this.#options;
    const input = costOf(RATE_TOKENS, 0, model, driver);
    const output = costOf(0, RATE_TOKENS, model, driver);
    if (input !== undefined && output !== undefined) {
      return { input: input / RATE_TOKENS, output: output / RATE_TOKENS };
    }
    throw new ExcursorError("no_price", [model]);
  }
}

/** What a token costs, in millionths of a dollar. */
interface Rates {
  readonly input: number;
  readonly output: number;
}

/** Sets no more aside than is left of each limit. */
function confine(
  limits: readonly UsageLimit[],
  { reserved }: UnderWay,
  wanted: Amounts,
  left: readonly number[],
): void {
  for (const unit of ["tokens", "dollars"] as const) {
    const rooms = limits.flatMap((limit, at) => (limit.unit === unit ? [left[at] ?? 0] : []));
    reserved[unit] -= Math.max(0, wanted[unit] - Math.min(...rooms));
  }
}

const underWayHolds = (limit: Limit): ExcursorError =>
  new ExcursorError("limit_reserved", [describeLimit(limit)], { retryAfterMs: UNDER_WAY_MS });

const isOfUsage = (limit: Limit): limit is UsageLimit => limit.unit !== "requests";

/** Such a limit refuses requests, and ends no answer. */
const isOfMinute = ({ window }: Pick<Limit, "window">): boolean => window === "minute";

/** Returns the lowest limit of a unit; 0 if there is none. */
function lowest(limits: readonly UsageLimit[], unit: keyof Amounts): number {
  const amounts = limits.filter((limit) => limit.unit === unit).map(({ amount }) => amount);
  return amounts.length === 0 ? 0 : Math.min(...amounts);
}
