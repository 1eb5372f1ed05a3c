/** The time for which an account is billed together. */
export interface BillingPeriod {
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  /** The period ends before this moment, and the next one begins with it. */
  readonly endMs: number;
  /**
   * `cursor`: Cursor has said so. `projected`: Cursor has said so of an earlier period, and the day of the month is the same.
   * `calendar-month`: Cursor has not said anything, so it is the month, in UTC.
   */
  readonly source: "cursor" | "projected" | "calendar-month";
}

/** A projection further than this is no better than the calendar. */
const MAX_MONTHS = 24;

/** Returns the billing period of a moment. `known` is the last one that Cursor has named. */
export function billingPeriodAt(nowMs: number, known?: Pick<BillingPeriod, "startMs" | "endMs">): BillingPeriod {
  if (!known || known.endMs <= known.startMs || nowMs < known.startMs) return calendarMonth(nowMs);
  if (nowMs < known.endMs) return { startMs: known.startMs, endMs: known.endMs, source: "cursor" };
  for (let months = 0; months < MAX_MONTHS; months++) {
    const startMs = monthsAfter(known.endMs, months);
    const endMs = monthsAfter(known.endMs, months + 1);
    if (nowMs < endMs) return { startMs, endMs, source: "projected" };
  }
  return calendarMonth(nowMs);
}

function calendarMonth(nowMs: number): BillingPeriod {
  const now = new Date(nowMs);
  const month = (offset: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1);
  return { startMs: month(0), endMs: month(1), source: "calendar-month" };
}

/** The same day and time some months later, in UTC; the last day of a shorter month. */
function monthsAfter(ms: number, months: number): number {
  const date = new Date(ms);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months + 1, 0)).getUTCDate();
  const day = Math.min(date.getUTCDate(), lastDay);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, day) + (ms % 86_400_000);
}
