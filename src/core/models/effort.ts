/** From not at all to all it has. Families spell some of them differently; the rank is what counts. */
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

/** Undefined for a word that is no effort that we know. */
export const effortRank = (effort: string): number | undefined => RANKS.get(effort);

/** From least to most, as clients spell them; a word that we do not know stays as it is. */
export function sortEfforts(efforts: readonly string[]): readonly string[] {
  const canonical = efforts.map((effort) => CANONICAL[RANKS.get(effort) ?? -1] ?? effort);
  return [...new Set(canonical)].sort((a, b) => (RANKS.get(a) ?? 0) - (RANKS.get(b) ?? 0));
}

/** Whether a model's parameter is the one that says how hard to think: the name differs by family. */
export const isEffortParameter = (id: string): boolean => id === "effort" || id === "reasoning";
