const MAX_QUOTED_CHARS = 64;

/**
 * Describes any value for a message: a short string in quotes, anything else by its type. Unlike `String()` and template
 * literals it never throws: JSON can hold `{"toString": 1}`.
 */
export const describeValue = (value: unknown): string =>
  typeof value === "string" && value.length <= MAX_QUOTED_CHARS ? JSON.stringify(value) : kindOf(value);

/** Returns `nothing`, `null`, `an array`, `a number`, … */
export function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
