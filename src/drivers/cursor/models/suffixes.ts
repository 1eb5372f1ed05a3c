import { EFFORTS } from "../../../core/models/effort.ts";

export interface Suffixes {
  readonly effort: string | undefined;
  readonly isThinking: boolean;
  readonly isFast: boolean;
  readonly isMaxMode: boolean;
}

const EFFORT = `(?:-(${EFFORTS.join("|")}))?`;

// The same grammar twice: `-max` is an effort for the first, and max mode for the second.
const EFFORT_FIRST = new RegExp(`^${EFFORT}(-thinking)?${EFFORT}(-fast)?(-max)?$`);
const MAX_MODE_FIRST = new RegExp(`^${EFFORT}?(-thinking)?${EFFORT}?(-fast)?(-max)?$`);

/**
 * Returns all readings of `[-effort][-thinking][-effort][-fast][-max]`, the likelier first. Empty if the text does not
 * match. Only the list of models can decide which one is meant, or whether it is a suffix (`gpt-5.1-codex-max` is a
 * model).
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

/** Yields all splits of an id into a base and suffixes, the longest base first. */
export function* splitId(id: string): Iterable<{ readonly base: string; readonly readings: readonly Suffixes[] }> {
  for (let end = id.length; end > 0; end = id.lastIndexOf("-", end - 1)) {
    const readings = readSuffixes(id.slice(end));
    if (readings.length > 0) yield { base: id.slice(0, end), readings };
  }
}
