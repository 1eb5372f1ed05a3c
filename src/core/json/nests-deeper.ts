import type { JsonValue } from "../turn.ts";

/** True if a value has more than `levels` nested arrays and objects, itself included. */
export function nestsDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const inner of Object.values(value)) if (nestsDeeper(inner, levels - 1)) return true;
  return false;
}
