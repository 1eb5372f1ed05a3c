import { randomUUID } from "node:crypto";
import type { Awaitable } from "../../core/awaitable.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import { ExcursorError } from "../../core/errors.ts";
import { describeLimit, formatAmount, type Limit } from "../../core/limits/limit.ts";
import { LimitReached } from "../../core/limits/limit-reached.ts";
import type { Usual } from "../store/request-rows.ts";
import type { Spending } from "../store/spending.ts";
import type { HeldClock } from "./held-clock.ts";
import { NEVER, type Window, windowAt } from "./limit-window.ts";
import { SharedHold } from "./shared-hold.ts";
import type { Amounts, SharedSpending, SpendRequest, SpendVerdict } from "./shared-spending.ts";

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
  /** What the nodes of a cluster count together. Absent: this process is alone. */
  readonly shared?: SharedSpending | undefined;
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

/** What the last reply of the other nodes said about a limit. */
interface LastKnown {
  /** What all nodes had spent then. */
  readonly spent: number;
  /** What this node had spent then, counted since its start. */
  readonly ownThen: number;
  /** What this node has spent by now, counted since its start. */
  own: number;
}

/** Returns what this node has spent since that reply. */
const spentSince = ({ own, ownThen }: LastKnown): number => Math.max(0, own - ownThen);

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

/** Limits of principals and conversations of which is remembered what all nodes have spent. */
const MAX_REMEMBERED = 10_000;

/** How much more a node of a cluster reserves, and which part of a limit at least: most answers then ask for no more. */
const HEADROOM = 3 / 2;
const LEAST_PART = 1 / 1000;

/** By which part of what it has used an answer extends its reservation. */
const EXTENSION = 1 / 8;

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
  /** What is known of the limits that all nodes share, for the time when they cannot be asked. */
  readonly #lastKnown = new BoundedMap<string, LastKnown>(MAX_REMEMBERED);

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
    const { shared } = this.#options;
    if (shared) return this.#reserveShared(shared, limits, entry, rates);
    for (const limit of limits) this.#admit(limit, entry);
    return this.#begin(entry, rates, () => this.#extend(limits, entry));
  }

  /** Reserves for all nodes. While they cannot be asked, the limits are this node's share of them. */
  async #reserveShared(
    shared: SharedSpending,
    limits: readonly UsageLimit[],
    entry: UnderWay,
    rates: Rates,
  ): Promise<Reservation> {
    const { principalId, conversation, used, reserved } = entry;
    const request: SpendRequest = {
      id: randomUUID(),
      principalId,
      conversation,
      liftedAt: this.#options.liftedAt?.(principalId) ?? 0,
      claims: limits.map((limit) => ({
        ...limit,
        fromMs: this.#window(limit).fromMs,
        seed: (at) => this.#stored(limit, { principalId, conversation: at }),
      })),
    };
    const refuse = (verdict: Exclude<SpendVerdict, { readonly type: "held" }>): Error => {
      const limit = limits[verdict.claim];
      if (!limit) return new ExcursorError("internal", "The cluster refused by a limit that is not known.");
      return verdict.type === "reached" ? this.#reached(limit, entry, verdict.spent) : underWayHolds(limit);
    };
    for (const unit of ["tokens", "dollars"] as const) {
      reserved[unit] = Math.max(reserved[unit] * HEADROOM, lowest(limits, unit) * LEAST_PART);
    }
    // A request that is settled from now on may not be in the reply.
    const ownBefore = limits.map((limit) => this.#lastKnown.get(this.#nameOf(limit, entry))?.own ?? 0);
    const verdict = await shared.reserve(request, reserved);
    if (verdict?.type === "held") {
      for (const [at, limit] of limits.entries()) this.#remember(limit, entry, verdict.spent[at] ?? 0, ownBefore[at]);
    } else if (verdict) {
      const limit = limits[verdict.claim];
      if (limit) this.#remember(limit, entry, verdict.spent, ownBefore[verdict.claim]);
      throw refuse(verdict);
    } else for (const limit of limits) this.#admitAlone(limit, entry);
    const extendAlone = () => this.#extend(limits, entry, (limit) => this.#restAlone(limit, entry));
    const extended = { ...request, claims: request.claims.filter((claim) => !isOfMinute(claim)) };
    const hold = new SharedHold({ shared, request: extended, used, reserved, refuse, extendAlone });
    const begun = this.#begin(entry, rates, verdict ? () => hold.extend() : extendAlone);
    let settled = request;
    return {
      ...begun,
      release: (spent, answered) => {
        settled = { ...request, conversation: answered ?? conversation };
        begun.release(spent, answered);
        this.#countAlone(limits, settled, spent);
        shared.settle(settled, spent);
      },
      correct: (difference) => {
        this.#countAlone(limits, settled, difference);
        shared.correct(settled, difference);
      },
    };
  }

  /**
   * Admits a request while the other nodes cannot be asked: this node has its share of what was left when they could be asked
   * last.
   */
  #admitAlone(limit: UsageLimit, entry: UnderWay): void {
    const known = this.#knownOf(limit, entry);
    const used = spentSince(known) + this.#sum(limit, entry, (one) => one.used[limit.unit]);
    const share = this.#shareOf(limit, known);
    if (used >= share) throw this.#reached(limit, entry, known.spent + used);
    if (spentSince(known) + this.#held(limit, entry) >= share) throw underWayHolds(limit);
  }

  /** What is left of this node's share. */
  #restAlone(limit: UsageLimit, entry: UnderWay): Rest {
    const known = this.#knownOf(limit, entry);
    return {
      left: this.#shareOf(limit, known) - spentSince(known) - this.#held(limit, entry),
      stored: known.spent + spentSince(known),
    };
  }

  #shareOf({ amount }: UsageLimit, { spent }: LastKnown): number {
    return Math.max(0, amount - spent);
  }

  #knownOf(limit: UsageLimit, entry: UnderWay): LastKnown {
    return this.#lastKnown.get(this.#nameOf(limit, entry)) ?? this.#remember(limit, entry, this.#stored(limit, entry));
  }

  /** `ownThen`: what this node had spent when it asked. */
  #remember(limit: UsageLimit, entry: UnderWay, spent: number, ownThen = 0): LastKnown {
    const name = this.#nameOf(limit, entry);
    const known = { spent, ownThen, own: this.#lastKnown.get(name)?.own ?? ownThen };
    this.#lastKnown.set(name, known);
    return known;
  }

  #countAlone(limits: readonly UsageLimit[], request: Asking, spent: Amounts): void {
    for (const limit of limits) {
      const known = this.#lastKnown.get(this.#nameOf(limit, request));
      if (known) known.own += spent[limit.unit];
    }
  }

  #nameOf(limit: UsageLimit, { principalId, conversation }: Asking): string {
    const { unit, window } = limit;
    const { fromMs } = this.#window(limit);
    const liftedAt = this.#options.liftedAt?.(principalId) ?? 0;
    return JSON.stringify([
      principalId,
      unit,
      window,
      fromMs,
      liftedAt,
      window === "conversation" ? conversation : null,
    ]);
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
  #extend(
    limits: readonly UsageLimit[],
    entry: UnderWay,
    restOf = (limit: UsageLimit) => this.#rest(limit, entry),
  ): void {
    const { used, reserved } = entry;
    const more = new Map<keyof Amounts, number>();
    for (const limit of limits) {
      const { unit } = limit;
      if (used[unit] <= reserved[unit] || isOfMinute(limit)) continue;
      const { left, stored } = restOf(limit);
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
  #held(limit: UsageLimit, asking: UnderWay): number {
    return this.#sum(limit, asking, ({ reserved, used }) => Math.max(reserved[limit.unit], used[limit.unit]));
  }

  #sum(limit: Limit, asking: UnderWay, amountOf: (entry: UnderWay) => number): number {
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
