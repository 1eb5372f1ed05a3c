import { type Limit, parseLimit } from "../limit.ts";
import type { Spending } from "../usage-store.ts";

/** A limit, and how much of it is used. */
export interface LimitUse {
  /** As it was set, such as `$5/day`. */
  readonly limit: string;
  readonly unit: Limit["unit"];
  /** Tokens, or millionths of a dollar. */
  readonly amount: number;
  /** Undefined for limits of conversations, which each have a use of their own. */
  readonly used: number | undefined;
}

const WINDOWS_MS: Readonly<Record<string, number>> = {
  hour: 3_600_000,
  day: 86_400_000,
  total: Number.POSITIVE_INFINITY,
};

const END_OF_TIME = 2 ** 42;

/** Returns the use of a limit in its current hour or day of UTC, or in total; undefined if it is none. */
export function limitUse(
  text: string,
  spent: (fromMs: number, untilMs: number) => Spending,
  now: number,
): LimitUse | undefined {
  const limit = parseLimit(text);
  if (!limit) return undefined;
  const { unit, amount, per } = limit;
  const window = WINDOWS_MS[per];
  if (window === undefined) return { limit: text, unit, amount, used: undefined };
  const fromMs = Number.isFinite(window) ? Math.floor(now / window) * window : 0;
  const { tokens, micros } = spent(fromMs, Math.min(fromMs + window, END_OF_TIME));
  return { limit: text, unit, amount, used: unit === "tokens" ? tokens : micros };
}
