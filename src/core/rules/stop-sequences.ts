export interface StopSearch {
  /** Surely part of the answer. */
  readonly before: string;
  /** May be the beginning of a stop sequence; to be put in front of what comes next. */
  readonly held: string;
  /** The sequence that was found. */
  readonly stop: string | undefined;
}

/** Looks for the stop sequence that is complete first; of two that end together, the longer. */
export function findStop(text: string, stop: readonly string[]): StopSearch {
  let found: string | undefined;
  let start = -1;
  let end = Number.POSITIVE_INFINITY;
  for (const sequence of stop) {
    const at = text.indexOf(sequence);
    if (at === -1) continue;
    const atEnd = at + sequence.length;
    if (atEnd > end || (atEnd === end && at > start)) continue;
    [found, start, end] = [sequence, at, atEnd];
  }
  if (found !== undefined) return { before: text.slice(0, start), held: "", stop: found };
  const hold = Math.min(...stop.map((sequence) => beginningOf(sequence, text)), text.length);
  return { before: text.slice(0, hold), held: text.slice(hold), stop: undefined };
}

/** Where a beginning of the sequence stands at the end of the text; the text's length if nowhere. */
function beginningOf(sequence: string, text: string): number {
  const first = sequence[0] ?? "";
  let at = text.indexOf(first, Math.max(0, text.length - sequence.length + 1));
  while (at !== -1 && !sequence.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
  return at === -1 ? text.length : at;
}
