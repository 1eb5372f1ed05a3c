/**
 * Returns the break between the text before and after a round of hub tools: a blank line, or nothing if one of the texts is
 * empty or has white space there. The streamed answer and the history key must agree on it.
 */
export const roundBreak = (before: string, after: string): string =>
  before === "" || after === "" || /\s$/.test(before) || /^\s/.test(after) ? "" : "\n\n";
