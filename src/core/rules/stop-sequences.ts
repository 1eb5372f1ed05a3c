export interface StopSearch {
  /** Text that is certainly part of the answer. */
  readonly before: string;
  /** Text that may be the beginning of a stop sequence. It has to be put in front of the next text. */
  readonly held: string;
  /** The sequence that was found. */
  readonly stop: string | undefined;
}

/** Finds the stop sequence that ends first. Of two that end at the same place, it takes the longer. */
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

/** Returns where the text ends with a beginning of the sequence; the length of the text if it does not. */
function beginningOf(sequence: string, text: string): number {
  const first = sequence[0] ?? "";
  let at = text.indexOf(first, Math.max(0, text.length - sequence.length + 1));
  while (at !== -1 && !sequence.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
  return at === -1 ? text.length : at;
}
