const MAX_QUOTED_CHARS = 64;

/**
 * Any value from outside, described for a message: a short text in quotes, anything else by its kind. Unlike `String()` and
 * template literals it never throws: JSON can hold `{"toString": 1}`.
 */
export const describeValue = (value: unknown): string =>
  typeof value === "string" && value.length <= MAX_QUOTED_CHARS ? JSON.stringify(value) : kindOf(value);

/** `nothing`, `null`, `an array`, `a number`, … */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
