import { ExcursorError } from "../../core/errors.ts";

export type Body = Readonly<Record<string, unknown>>;

/**
 * Fields that no upstream supports, with the values that change nothing. Other values are refused: ignoring them would
 * mislead the client.
 */
export type UnsupportedFields = Readonly<
  Record<string, { readonly isHarmless: (value: unknown) => boolean; readonly because: string }>
>;

export function refuseFields(body: Body, unsupported: UnsupportedFields): void {
  for (const [field, { isHarmless, because }] of Object.entries(unsupported)) {
    const value = valueIn(body, field);
    if (value === undefined || isHarmless(value)) continue;
    throw new ExcursorError("unsupported_parameter", `${field}: ${because}.`, { field });
  }
}

/** Returns a field, or undefined if it is missing or null. */
export const valueIn = (body: Body, field: string): unknown =>
  Object.hasOwn(body, field) ? (body[field] ?? undefined) : undefined;
