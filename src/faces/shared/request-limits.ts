import { invalid } from "./errors/invalid.ts";

export interface RequestLimits {
  readonly maxMessages: number;
  readonly maxTools: number;
  /** In the whole conversation. */
  readonly maxImages: number;
}

export const REQUEST_LIMITS: RequestLimits = { maxMessages: 10_000, maxTools: 512, maxImages: 20 };

/** Checks a list's length before its entries are parsed. The schema rejects what is not a list. */
export function checkCount(field: string, value: unknown, max: number): void {
  if (Array.isArray(value) && value.length > max) throw invalid(field, `expected at most ${max}, got ${value.length}`);
}
