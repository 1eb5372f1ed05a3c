import { EFFORTS } from "../../../core/models/effort.ts";

/** What the end of a model id can say. */
export interface Suffixes {
  readonly effort: string | undefined;
  readonly isThinking: boolean;
  readonly isFast: boolean;
  readonly isMaxMode: boolean;
}

const EFFORT = `(?:-(${EFFORTS.join("|")}))?`;

// The same language twice: `-max` is an effort first to the one, and the max mode first to the other.
const EFFORT_FIRST = new RegExp(`^${EFFORT}(-thinking)?${EFFORT}(-fast)?(-max)?$`);
const MAX_MODE_FIRST = new RegExp(`^${EFFORT}?(-thinking)?${EFFORT}?(-fast)?(-max)?$`);

/**
 * Every way to read `[-effort][-thinking][-effort][-fast][-max]`, the likelier first; none if it is not that. Which one
 * is meant, and whether it is a suffix at all (`gpt-5.1-codex-max` is a model), only the catalogue knows.
 */
export function readSuffixes(text: string): readonly Suffixes[] {
  const first = read(EFFORT_FIRST, text);
  const second = text.endsWith("-max") ? read(MAX_MODE_FIRST, text) : undefined;
  return [first, second].filter((reading) => reading !== undefined);
}

function read(grammar: RegExp, text: string): Suffixes | undefined {
  const match = grammar.exec(text);
  if (!match) return undefined;
  const [, before, thinking, after, fast, max] = match;
  if (before !== undefined && after !== undefined) return undefined;
  return {
    effort: before ?? after,
    isThinking: thinking !== undefined,
    isFast: fast !== undefined,
    isMaxMode: max !== undefined,
  };
}

/** All that an id could be the base of, the longest base first: the id itself, and what is left without suffixes. */
export function* splitId(id: string): Iterable<{ readonly base: string; readonly readings: readonly Suffixes[] }> {
  for (let end = id.length; end > 0; end = id.lastIndexOf("-", end - 1)) {
    const readings = readSuffixes(id.slice(end));
    if (readings.length > 0) yield { base: id.slice(0, end), readings };
  }
}
