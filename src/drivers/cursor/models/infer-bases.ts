import { type Suffixes, splitId } from "./suffixes.ts";

export interface ReadId {
  readonly base: string;
  readonly suffixes: Suffixes;
}

/**
 * Infers the base of each id from the ids alone. An ending is a suffix if the rest is an id itself or is shared by
 * several. An id that others extend is a base, whatever its ending: `gpt-5.1-codex-max` is one beside
 * `gpt-5.1-codex-max-high`.
 */
export function inferBases(ids: readonly string[]): ReadonlyMap<string, ReadId> {
  const shortest = new Map(ids.map((id) => [id, shortestReading(id)]));
  const members = new Map<string, number>();
  const isBuiltUpon = new Set<string>();
  for (const [id, { base }] of shortest) {
    members.set(base, (members.get(base) ?? 0) + 1);
    if (base !== id) isBuiltUpon.add(base);
  }
  return new Map(
    Array.from(shortest, ([id, reading]) => {
      const isShared = shortest.has(reading.base) || (members.get(reading.base) ?? 0) > 1;
      const isVariant = isShared && !isBuiltUpon.has(id);
      return [id, isVariant ? reading : { base: id, suffixes: NO_SUFFIXES }];
    }),
  );
}

const NO_SUFFIXES: Suffixes = { effort: undefined, isThinking: false, isFast: false, isMaxMode: false };

function shortestReading(id: string): ReadId {
  let shortest: ReadId = { base: id, suffixes: NO_SUFFIXES };
  for (const { base, readings } of splitId(id)) shortest = { base, suffixes: readings[0] ?? NO_SUFFIXES };
  return shortest;
}
