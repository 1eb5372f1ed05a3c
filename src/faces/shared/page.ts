import type { ExcursorError } from "../../core/errors.ts";
import { invalid } from "./errors/invalid.ts";

export interface Page<T> {
  readonly items: readonly T[];
  /** Whether there are more in the direction of the page. */
  readonly hasMore: boolean;
}

/** Returns the first `size` items after the one with the id `after`. Throws `unknown()` if there is none. */
export function pageAfter<T extends { readonly id: string }>(
  items: readonly T[],
  after: string | undefined,
  size: number,
  unknown: () => ExcursorError,
): Page<T> {
  const rest = items.slice(after === undefined ? 0 : indexOf(items, after, unknown) + 1);
  return { items: rest.slice(0, size), hasMore: rest.length > size };
}

/** Returns the last `size` items before the one with the id `before`. Throws `unknown()` if there is none. */
export function pageBefore<T extends { readonly id: string }>(
  items: readonly T[],
  before: string,
  size: number,
  unknown: () => ExcursorError,
): Page<T> {
  const rest = items.slice(0, indexOf(items, before, unknown));
  return { items: rest.slice(-size), hasMore: rest.length > size };
}

function indexOf(items: readonly { readonly id: string }[], wanted: string, unknown: () => ExcursorError): number {
  const at = items.findIndex(({ id }) => id === wanted);
  if (at === -1) throw unknown();
  return at;
}

/** Returns a whole number of a query; undefined if it is not given. Throws `invalid-request` for anything else. */
export function readCount(query: URLSearchParams, name: string): number | undefined {
  const given = query.get(name);
  if (given === null) return undefined;
  if (!/^\d{1,9}$/.test(given)) throw invalid(name, "expected a whole number");
  return Number(given);
}
