import type { BaseModel } from "./base-model.ts";

const MAX_MATCHES = 3;

/** Returns the models with the most similar names, the closest first. */
export function closeMatches(models: readonly BaseModel[], name: string): readonly string[] {
  const wanted = name.slice(0, 100).toLowerCase();
  const scored = models.map(({ displayId, aliases }) => ({
    displayId,
    score: Math.max(...[displayId, ...aliases.keys()].map((own) => similarity(wanted, own.toLowerCase()))),
  }));
  return scored
    .filter(({ score }) => score >= 0.3)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_MATCHES)
    .map(({ displayId }) => displayId);
}

/** Returns the similarity of two names from 0 to 1 (Dice coefficient of letter pairs). */
function similarity(a: string, b: string): number {
  const [left, right] = [pairs(a), pairs(b)];
  if (left.size + right.size === 0) return 0;
  const common = [...left].filter((pair) => right.has(pair)).length;
  return (2 * common) / (left.size + right.size);
}

const pairs = (text: string): ReadonlySet<string> =>
  new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, index) => text.slice(index, index + 2)));
