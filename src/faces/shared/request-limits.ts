import { invalid } from "./invalid.ts";

/** What one request may hold, in any dialect. */
export interface RequestLimits {
  readonly maxMessages: number;
  readonly maxTools: number;
  /** In the whole conversation. */
  readonly maxImages: number;
}

export const REQUEST_LIMITS: RequestLimits = { maxMessages: 10_000, maxTools: 512, maxImages: 20 };

/** Lists are counted before they are looked at: each entry costs. What is no list is for somebody else to refuse. */
export function checkCount(field: string, value: unknown, max: number): void {
  if (Array.isArray(value) && value.length > max) throw invalid(field, `expected at most ${max}, got ${value.length}`);
}
