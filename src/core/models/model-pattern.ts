/** Whether a model's name is meant by another one, which may end in a `*` for anything. */
export const matchesModel = (pattern: string, model: string): boolean =>
  pattern.endsWith("*") ? model.startsWith(pattern.slice(0, -1)) : model === pattern;

/** The one that says most about a model: the name itself, else the longest beginning of it. */
export function closestPattern(patterns: Iterable<string>, model: string): string | undefined {
  let closest: string | undefined;
  for (const pattern of patterns) {
    if (!matchesModel(pattern, model)) continue;
    if (pattern === model) return pattern;
    if (closest === undefined || pattern.length > closest.length) closest = pattern;
  }
  return closest;
}
