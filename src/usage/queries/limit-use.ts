import { type Limit, parseLimit } from "../../core/limits/limit.ts";
import { NEVER, windowAt } from "../limits/limit-window.ts";
import type { UsageStore } from "../store/usage-store.ts";

/** A limit, and how much of it is used. */
export interface LimitUse {
  /** As it was set, such as `$5/day`. */
  readonly limit: string;
  readonly unit: Limit["unit"];
  /** In the unit of the limit; dollars in millionths, time in milliseconds. */
  readonly amount: number;
  /** Undefined if the limit holds for each conversation, or each minute, by itself. */
  readonly used: number | undefined;
  /** Undefined if it does not reset. */
  readonly resetsAtMs: number | undefined;
}

export interface LimitedKey {
  readonly id: string;
  readonly account?: string | undefined;
}

/** Returns the use of a limit of a key in its current window; undefined if the text is no limit. */
export function limitUse(
  text: string,
  { id, account }: LimitedKey,
  store: Pick<UsageStore, "spent" | "billingPeriod">,
  now: number,
): LimitUse | undefined {
  const limit = parseLimit(text);
  if (!limit) return undefined;
  const { unit, amount, window, isPerConversation } = limit;
  const { fromMs, untilMs } = windowAt(limit, now, () => store.billingPeriod(account));
  const isSummed = !isPerConversation && window !== "minute" && unit !== "requests";
  const used = isSummed ? store.spent(id, fromMs, untilMs)[unit] : undefined;
  return { limit: text, unit, amount, used, resetsAtMs: used === undefined || untilMs === NEVER ? undefined : untilMs };
}
