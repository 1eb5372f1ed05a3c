/** A parsed JSON object seen as the fields that we look for, none of which needs to be there; undefined for anything else. */
export function jsonObject<Field extends string>(
  value: unknown,
): Readonly<Partial<Record<Field, unknown>>> | undefined {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Partial<Record<Field, unknown>>) : undefined;
}
