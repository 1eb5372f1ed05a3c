/** What this process counts of one limit in its window. All processes that share the limit have the same name for it. */
export interface Count {
  readonly name: string;
  /** How much there may be in all processes together. */
  readonly amount: number;
  /** Spent by this process since its start. */
  readonly spent: number;
  /** Set aside by this process for requests under way. */
  readonly held: number;
  /** The part of `held` that is new. */
  readonly wanted: number;
}

export type Verdict =
  /** There is room: so much is left of each count, beside what was set aside before. */
  | { readonly type: "room"; readonly left: readonly number[] }
  /** A limit is used up, or what is left of it is set aside. `at` is its place in the list; `spent` is that of all. */
  | { readonly type: "reached" | "reserved"; readonly at: number; readonly spent: number };

/**
 * Adds up what several processes count. Each tells its own figures as they are, so that telling them twice does no harm. It only
 * tightens: a process refuses what it counts itself, whatever the others say.
 */
export interface SharedCounts {
  /** Tells the counts if there is room for what is wanted. Undefined: nobody replies. */
  claim(counts: readonly Count[]): Promise<Verdict | undefined>;
  /** Tells the counts, now or when it can be done. */
  tell(counts: readonly Count[]): void;
}
