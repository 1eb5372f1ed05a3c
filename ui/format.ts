const NUMBER = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hour12: false,
});
const DAY = new Intl.DateTimeFormat(undefined, {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hour12: false,
});

export const NONE = "–";

export const whole = (value: number | null | undefined): string => (value == null ? NONE : NUMBER.format(value));
/** Such as 1.2K. */
export const short = (value: number | null | undefined): string =>
  value == null ? NONE : value < 10_000 && Number.isInteger(value) ? NUMBER.format(value) : SHORT.format(value);

/** A time span, such as 340 ms, 2.4 s, 3 min. */
export function span(ms: number | null | undefined): string {
  if (ms == null) return NONE;
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = seconds / 60;
  if (minutes < 60) return `${Math.floor(minutes)} min ${Math.floor(seconds % 60)} s`;
  const hours = minutes / 60;
  return hours < 48 ? `${Math.floor(hours)} h ${Math.floor(minutes % 60)} min` : `${Math.floor(hours / 24)} days`;
}

/** Millionths of a dollar. */
export function dollars(micros: number | null | undefined, isEstimate = false): string {
  if (micros == null) return NONE;
  const value = micros / 1e6;
  const digits = value !== 0 && Math.abs(value) < 0.1 ? 4 : 2;
  return `${isEstimate ? "~" : ""}${value < 0 ? "−" : ""}$${Math.abs(value).toFixed(digits)}`;
}

/** For an axis: as few digits as it needs. */
export const roughDollars = (micros: number): string => `$${Number((micros / 1e6).toPrecision(2))}`;

export function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  return count < 1024 * 1024 ? `${Math.round(count / 1024)} kB` : `${(count / 1024 / 1024).toFixed(1)} MB`;
}

/** The time of day; with the date if it was another day. */
export function moment(at: number): string {
  const date = new Date(at);
  return date.toDateString() === new Date().toDateString() ? CLOCK.format(date) : DAY.format(date);
}

/** How long ago, such as 3 min ago. */
export function ago(at: number): string {
  const ms = Date.now() - at;
  if (ms < 60_000) return "just now";
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ago`;
  return moment(at);
}
