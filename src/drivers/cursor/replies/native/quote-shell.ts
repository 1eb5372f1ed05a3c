/** Quotes a text as one word of a POSIX shell. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
