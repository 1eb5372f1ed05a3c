const DAY_MS = 24 * 60 * 60 * 1000;

/** Parses a `retry-after` value, seconds or an HTTP date. Returns milliseconds from `now`, or undefined if invalid. */
export function parseRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^\d{1,9}(\.\d{1,3})?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), DAY_MS);
  // Only the HTTP form: Date.parse accepts almost anything.
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.min(Math.max(0, at - now), DAY_MS);
}
