/** A delimiter, `partial` if the input ends within what may be one, or undefined. */
type Match<T> = { readonly length: number; readonly value: T } | "partial" | undefined;

const PLAIN_OPENERS = ["<think>", "<thinking>"];
export const PLAIN_CLOSERS = ["</think>", "</thinking>"];
const NONCE_OPENER = "<!--thinking-start:";
const NONCE_CLOSER = "<!--thinking-end:";
const COMMENT_END = "-->";
const NONCE_LENGTH = 8;
/** The beginnings of all openers. Searching for these is much faster than searching for `<`. */
const OPENER_STEMS = ["<think", "<!--thinking-start:"];
const MARKERS = [
  { head: "```plaintext:thinkId:", tail: "```" },
  { head: "<!--thinkId:", tail: "-->" },
];
const MAX_ID_LENGTH = 128;

/** Yields the positions where an opener may begin, in order. It may be cut off by the end of the input. */
export function* openerStarts(input: string, from: number): Generator<number> {
  const next = OPENER_STEMS.map((stem) => input.indexOf(stem, from));
  for (;;) {
    let first = -1;
    for (const [index, at] of next.entries()) {
      if (at !== -1 && (first === -1 || at < (next[first] ?? 0))) first = index;
    }
    const at = next[first];
    if (at === undefined) break;
    yield at;
    next[first] = input.indexOf(OPENER_STEMS[first] ?? "", at + 1);
  }
  // Stems that are cut off by the end of the input.
  const longest = Math.max(...OPENER_STEMS.map((stem) => stem.length)) - 1;
  let at = input.indexOf("<", Math.max(from, input.length - longest));
  for (; at !== -1; at = input.indexOf("<", at + 1)) {
    if (OPENER_STEMS.some((stem) => stem.length > input.length - at && stem.startsWith(input.slice(at)))) yield at;
  }
}

export function matchOpener(input: string, at: number): Match<readonly string[]> {
  const plain = matchOneOf(PLAIN_OPENERS, input, at);
  if (plain !== undefined) return plain === "partial" ? plain : { length: plain.length, value: PLAIN_CLOSERS };
  const nonce = matchFramed(input, at, NONCE_OPENER, COMMENT_END, isHexDigit, NONCE_LENGTH, NONCE_LENGTH);
  if (nonce === undefined || nonce === "partial") return nonce;
  return { length: nonce.length, value: [`${NONCE_CLOSER}${nonce.value}${COMMENT_END}`] };
}

export function matchMarker(input: string, at: number): Match<string> {
  for (const { head, tail } of MARKERS) {
    const found = matchFramed(input, at, head, tail, isIdCharacter, 1, MAX_ID_LENGTH);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Matches `head`, then `least` to `most` characters of a kind, then `tail`. Returns the characters in between. */
function matchFramed(
  input: string,
  at: number,
  head: string,
  tail: string,
  isInside: (code: number) => boolean,
  least: number,
  most: number,
): Match<string> {
  const start = matchOneOf([head], input, at);
  if (start === undefined || start === "partial") return start;
  const from = at + head.length;
  let to = from;
  while (to < input.length && to - from < most && isInside(input.charCodeAt(to))) to++;
  if (to === input.length) return "partial";
  if (to - from < least) return undefined;
  const end = matchOneOf([tail], input, to);
  if (end === undefined || end === "partial") return end;
  return { length: to + tail.length - at, value: input.slice(from, to) };
}

function matchOneOf(words: readonly string[], input: string, at: number): Match<string> {
  let isPartial = false;
  for (const word of words) {
    if (input.startsWith(word, at)) return { length: word.length, value: word };
    if (input.length - at < word.length && word.startsWith(input.slice(at))) isPartial = true;
  }
  return isPartial ? "partial" : undefined;
}

/**
 * Finds the closer, including the line break before it. Without a `length`, only the beginning of a closer was found, at the
 * end of the input, or nothing at all.
 */
export function findCloser(
  input: string,
  from: number,
  closers: readonly string[],
): { readonly at: number; readonly length?: number } {
  let found: { at: number; word: string } | undefined;
  for (const word of closers) {
    const at = input.indexOf(word, from);
    if (at !== -1 && (found === undefined || at < found.at)) found = { at, word };
  }
  if (found !== undefined) {
    const at = found.at > from && input[found.at - 1] === "\n" ? found.at - 1 : found.at;
    return { at, length: found.at + found.word.length - at };
  }
  const longest = Math.max(...closers.map((word) => word.length));
  for (let at = Math.max(from, input.length - longest); at < input.length; at++) {
    const tail = input[at] === "\n" ? input.slice(at + 1) : input.slice(at);
    if (closers.some((word) => word.startsWith(tail))) return { at };
  }
  return { at: input.length };
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isLetter = (code: number): boolean => ((code | 32) >= 97 && (code | 32) <= 122) || code === 95;
const isHexDigit = (code: number): boolean => isDigit(code) || ((code | 32) >= 97 && (code | 32) <= 102);
/** Without `-`, since the end of a comment begins with it. */
const isIdCharacter = (code: number): boolean => isDigit(code) || isLetter(code) || code === 46;
