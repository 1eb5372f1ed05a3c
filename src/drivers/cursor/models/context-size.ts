const UNITS: Readonly<Record<string, number>> = { "": 1, k: 1_000, m: 1_000_000 };

/** Parses `272k`, `1m` or a plain number of tokens. Returns undefined for anything else. */
export function readContextSize(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)([km])?$/.exec(text) ?? [];
  return digits === undefined ? undefined : Math.round(Number(digits) * (UNITS[unit] ?? 1));
}
