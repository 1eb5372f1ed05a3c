import { isJsonObject } from "../core/json/is-json-object.ts";

/** Returns the value as an object of unchecked fields, or undefined if it is none. */
export function jsonObject<Field extends string>(
  value: unknown,
): Readonly<Partial<Record<Field, unknown>>> | undefined {
  return isJsonObject(value) ? (value as Partial<Record<Field, unknown>>) : undefined;
}
