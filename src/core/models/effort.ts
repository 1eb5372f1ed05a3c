/** Efforts by rank. Model families spell some of them differently. */
const RANKS: ReadonlyMap<string, number> = new Map([
  ["none", 0],
  ["minimal", 1],
  ["low", 2],
  ["medium", 3],
  ["high", 4],
  ["xhigh", 5],
  ["extra-high", 5],
  ["max", 6],
]);

const CANONICAL = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export const EFFORTS: readonly string[] = [...RANKS.keys()];

/** Returns undefined for an unknown effort. */
export const effortRank = (effort: string): number | undefined => RANKS.get(effort);

/** Sorts efforts from least to most, in the spelling of clients. Unknown ones stay as they are. */
export function sortEfforts(efforts: readonly string[]): readonly string[] {
  const canonical = efforts.map((effort) => CANONICAL[RANKS.get(effort) ?? -1] ?? effort);
  return [...new Set(canonical)].sort((a, b) => (RANKS.get(a) ?? 0) - (RANKS.get(b) ?? 0));
}

/** True if a model's parameter sets the effort. Its name differs by model family. */
export const isEffortParameter = (id: string): boolean => id === "effort" || id === "reasoning";
