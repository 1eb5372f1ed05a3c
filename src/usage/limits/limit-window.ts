import type { Limit } from "../../core/limits/limit.ts";
import type { BillingPeriod } from "./billing-period.ts";

/** Milliseconds since the epoch: `fromMs` is in it, `untilMs` is not. */
export interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
}

export type Period = Pick<BillingPeriod, "startMs" | "endMs">;

/** The end of a window that does not reset. */
export const NEVER = 2 ** 42;

const LENGTHS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** Returns the window of a limit that a time is in. Hours and days are those of UTC. */
export function windowAt({ window }: Limit, ms: number, periodOf: () => Period): Window {
  if (window === "total") return { fromMs: 0, untilMs: NEVER };
  if (window === "period") {
    const { startMs, endMs } = periodOf();
    return { fromMs: startMs, untilMs: endMs };
  }
  const length = LENGTHS[window];
  const fromMs = Math.floor(ms / length) * length;
  return { fromMs, untilMs: fromMs + length };
}
