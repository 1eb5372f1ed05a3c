/** True if a model's name matches a pattern. A pattern may end in `*`, which matches any text. */
export const matchesModel = (pattern: string, model: string): boolean =>
  pattern.endsWith("*") ? model.startsWith(pattern.slice(0, -1)) : model === pattern;

/** Returns the most specific pattern that matches: the name itself, else the longest prefix. */
export function closestPattern(patterns: Iterable<string>, model: string): string | undefined {
  let closest: string | undefined;
  for (const pattern of patterns) {
    if (!matchesModel(pattern, model)) continue;
    if (pattern === model) return pattern;
    if (closest === undefined || pattern.length > closest.length) closest = pattern;
  }
  return closest;
}
