/**
 * Matches a line with steps. Clients quote, fence and wrap prompts, so white space, quotes, `>` and tags may precede
 * `@sim`. Every alternative begins with another character, so the match is linear. Only a line feed ends a line.
 */
const STEP_LINE = /^((?:[\s"'`“”‘’>]|<[^<>]*>)*)@sim[ \t]+(.*)$/s;

/**
 * How many pieces are joined at most, and how often in one text, so that hostile input does not take quadratic time.
 */
const MAX_PIECES = 16;
const MAX_JOINS = 256;

interface Found<S> {
  /** The text of the step, without `@sim`. */
  readonly source: string;
  readonly step: S;
}

/**
 * Finds and parses the steps of a text. ` ;; ` separates them, except inside a step such as a call with that in its
 * arguments: `isCut` tells whether a step is incomplete.
 */
export function* findSteps<S>(
  text: string,
  parse: (source: string) => S,
  isCut: (found: Found<S>) => boolean,
): Iterable<Found<S>> {
  let joins = MAX_JOINS;
  const read = (pieces: readonly string[]): Found<S> => {
    const source = sourceOf(pieces);
    return { source, step: parse(source) };
  };
  for (const line of text.split(/\r?\n/)) {
    const [, before, rest] = STEP_LINE.exec(line) ?? [];
    if (before === undefined || rest === undefined) continue;
    const pieces = dropClosing(rest, before).split(/ ;;(?: |$)/);
    for (let start = 0, end = 0; start < pieces.length; start = end) {
      end = start + 1;
      let found = read(pieces.slice(start, end));
      const last = isCut(found) ? Math.min(pieces.length, start + MAX_PIECES) : 0;
      for (let longer = end + 1; longer <= last && joins > 0; longer++, joins--) {
        const joined = read(pieces.slice(start, longer));
        if (isCut(joined)) continue;
        [found, end] = [joined, longer];
        break;
      }
      if (found.source !== "") yield found;
    }
  }
}

const sourceOf = (pieces: readonly string[]): string =>
  pieces
    .join(" ;; ")
    .trim()
    .replace(/^@sim[ \t]+/, "");

/** The closing quote of each opening one. */
const CLOSING: Readonly<Record<string, string>> = { "“": "”", "‘": "’" };

/** Removes closing tags and quotes that were opened before the step, on this line or another. */
function dropClosing(line: string, before: string): string {
  const opened = (before.replace(/<[^<>]*>/g, "").match(/```|["'`“”‘’]/g) ?? []).map(
    (quote) => CLOSING[quote] ?? quote,
  );
  const surplus = countSurplus(line);
  let rest = line.trimEnd();
  for (;;) {
    const tag = rest.endsWith(">") ? rest.lastIndexOf("<") : -1;
    const last = tag >= 0 ? rest.slice(tag) : rest.endsWith("```") ? "```" : rest.slice(-1);
    const own = opened.lastIndexOf(last);
    const isEscaped = rest.at(-last.length - 1) === "\\";
    if (own >= 0 && !isEscaped) opened.splice(own, 1);
    else if ((surplus.get(last) ?? 0) <= 0) return rest;
    surplus.set(last, (surplus.get(last) ?? 0) - 1);
    rest = rest.slice(0, -last.length).trimEnd();
  }
}

// An apostrophe within a word is no quote.
const MARKS = /<(\/?)([\w:.-]+)(?:[\s/][^<>]*)?>|```|["`“”‘]|(?<![\p{L}\p{N}](?=['’][\p{L}\p{N}]))['’]/gu;

/** Counts for each closing tag and quote how many more there are than the step itself opens. */
function countSurplus(line: string): Map<string, number> {
  const surplus = new Map<string, number>();
  const add = (closing: string, count: number) => surplus.set(closing, (surplus.get(closing) ?? 0) + count);
  for (const [mark, slash, name] of line.matchAll(MARKS)) {
    if (name !== undefined) add(slash ? mark : `</${name}>`, slash ? 1 : -1);
    else if (CLOSING[mark] !== undefined) add(CLOSING[mark], -1);
    else add(mark, 1);
  }
  // Their opening and closing forms are the same.
  for (const quote of ['"', "'", "`", "```"]) surplus.set(quote, (surplus.get(quote) ?? 0) % 2);
  return surplus;
}
