/**
 * Where the steps of a text are. Clients quote, fence and wrap prompts, so white space, quotes, `>` and tags may stand
 * before `@sim`. Every alternative begins with another character: the match is linear. A line ends at a line feed only.
 */
const STEP_LINE = /^((?:[\s"'`“”‘’>]|<[^<>]*>)*)@sim[ \t]+(.*)$/s;

/** So many pieces are put together again at most, and so often in one text: adversarial ones must not cost their square. */
const MAX_PIECES = 16;
const MAX_JOINS = 256;

interface Found<S> {
  /** What the step says, without `@sim`. */
  readonly source: string;
  readonly step: S;
}

/**
 * The steps of a text, parsed. ` ;; ` separates them, but not within what makes sense only as a whole, such as a call
 * with that in its arguments: `isCut` tells whether a step breaks off.
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

/** What closes each quote. */
const CLOSING: Readonly<Record<string, string>> = { "“": "”", "‘": "’" };

/** Without the closing tags and quotes that belong to what was opened before the step, on this line or another. */
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

/** For each closing tag and quote, how many more there are than the step itself opens. */
function countSurplus(line: string): Map<string, number> {
  const surplus = new Map<string, number>();
  const add = (closing: string, count: number) => surplus.set(closing, (surplus.get(closing) ?? 0) + count);
  for (const [mark, slash, name] of line.matchAll(MARKS)) {
    if (name !== undefined) add(slash ? mark : `</${name}>`, slash ? 1 : -1);
    else if (CLOSING[mark] !== undefined) add(CLOSING[mark], -1);
    else add(mark, 1);
  }
  // These open and close alike.
  for (const quote of ['"', "'", "`", "```"]) surplus.set(quote, (surplus.get(quote) ?? 0) % 2);
  return surplus;
}
