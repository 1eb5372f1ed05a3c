import type { JsonValue } from "../turn.ts";

/** Whether lists and objects in a value are nested in more than so many levels. The value itself is the first one. */
export function nestsDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (nestsDeeper(inner, levels - 1)) return true;
  return false;
}
