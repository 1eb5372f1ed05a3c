/**
 * Returns what stands between the text before and after a round of hub tools: a blank line, or nothing where either text is
 * empty or already brings white space. The streamed answer and the history key must agree on it.
 */
export const roundBreak = (before: string, after: string): string =>
  before === "" || after === "" || /\s$/.test(before) || /^\s/.test(after) ? "" : "\n\n";
