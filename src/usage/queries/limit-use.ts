import { type Limit, parseLimit } from "../../core/limits/limit.ts";
import { NEVER, windowAt } from "../limits/limit-window.ts";
import type { UsageStore } from "../store/usage-store.ts";

/** A limit, and how much of it is used. */
export interface LimitUse {
  /** As it was set, such as `$5/day`. */
  readonly limit: string;
  readonly unit: Limit["unit"];
  /** In the unit of the limit; dollars in millionths. */
  readonly amount: number;
  /** Undefined for requests, and if the limit holds for each conversation by itself. */
  readonly used: number | undefined;
  /** Undefined if it does not reset. */
  readonly resetsAtMs: number | undefined;
}

/** Returns the use of a limit of a key in its current window; undefined if the text is no limit. */
export function limitUse(
  text: string,
  principalId: string,
  store: Pick<UsageStore, "spent" | "spentInMinute">,
  now: number,
): LimitUse | undefined {
  const limit = parseLimit(text);
  if (!limit) return undefined;
  const { unit, amount, window } = limit;
  const { fromMs, untilMs } = windowAt(limit, now);
  const used =
    unit === "requests" || window === "conversation"
      ? undefined
      : (window === "minute" ? store.spentInMinute(principalId, fromMs) : store.spent(principalId, fromMs, untilMs))[
          unit
        ];
  return { limit: text, unit, amount, used, resetsAtMs: used === undefined || untilMs === NEVER ? undefined : untilMs };
}
