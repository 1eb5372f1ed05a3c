import type { Limit } from "../../core/limits/limit.ts";

/** Milliseconds since the epoch: `fromMs` is in it, `untilMs` is not. */
export interface Window {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The end of a window that does not reset. */
export const NEVER = 2 ** 42;

const LENGTHS = { minute: 60_000, day: 86_400_000 } as const;

/** Returns the window of a limit that a time is in. Minutes, days and months are those of UTC. */
export function windowAt({ window }: Pick<Limit, "window">, ms: number): Window {
  if (window === "total" || window === "conversation") return { fromMs: 0, untilMs: NEVER };
  if (window === "month") {
    const date = new Date(ms);
    const month = (offset: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1);
    return { fromMs: month(0), untilMs: month(1) };
  }
  const length = LENGTHS[window];
  const fromMs = Math.floor(ms / length) * length;
  return { fromMs, untilMs: fromMs + length };
}
