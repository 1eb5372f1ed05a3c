import type { Limit } from "../../core/limits/limit.ts";

/** What a request uses, in the units of limits. */
export type Amounts = Record<Exclude<Limit["unit"], "requests">, number>;

/** A limit, as the nodes of a cluster count it together. */
export interface Claim {
  readonly unit: keyof Amounts;
  readonly window: Limit["window"];
  /** When the window began, in milliseconds since the epoch. */
  readonly fromMs: number;
  readonly amount: number;
  /** Returns what the record of this node says was spent, for the case that the cluster does not know. */
  readonly seed: (conversation: string) => number;
}

/** Which request asks, and what it is held to. */
export interface SpendRequest {
  /** Unique, so that nothing is counted twice. */
  readonly id: string;
  readonly principalId: string;
  readonly conversation: string;
  /** When the limits of the principal were lifted last, as far as this node knows; 0 for never. */
  readonly liftedAt: number;
  readonly claims: readonly Claim[];
}

export type SpendVerdict =
  /** So much is set aside. */
  | { readonly type: "held"; readonly amounts: Amounts; readonly spent: readonly number[] }
  /** A limit is used up, or what is left of it is set aside for other requests. `claim` is its place in the list. */
  | { readonly type: "reached" | "reserved"; readonly claim: number; readonly spent: number };

/** What all nodes of a cluster have spent and set aside. Promises resolve with undefined if it cannot be asked now. */
export interface SharedSpending {
  /** Sets amounts aside for a new request. */
  reserve(request: SpendRequest, amounts: Amounts): Promise<SpendVerdict | undefined>;
  /** Sets more aside: the amounts, or what is left if that is less. */
  extend(request: SpendRequest, amounts: Amounts): Promise<SpendVerdict | undefined>;
  /**
   * The request has spent so much, and nothing is set aside for it any more. Counted once, now or when it can be. Its
   * conversation may be another one than before: that of a first request is known when it is answered.
   */
  settle(request: SpendRequest, spent: Amounts): void;
  /** The request has spent so much more, or less, than was settled. */
  correct(request: SpendRequest, difference: Amounts): void;
}
