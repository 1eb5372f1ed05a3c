/** Returns the value as an object of unchecked fields, or undefined if it is none. */
export function jsonObject<Field extends string>(
  value: unknown,
): Readonly<Partial<Record<Field, unknown>>> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Partial<Record<Field, unknown>>) : undefined;
}
