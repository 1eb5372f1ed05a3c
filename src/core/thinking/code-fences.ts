/** No line that opens or closes a fence needs to be longer. */
const MAX_LINE_LENGTH = 256;

/** Follows Markdown's fenced code through a stream of text, whatever its cut. */
export class CodeFences {
  /** The beginning of the line that is not over yet. */
  #line = "";
  /** The backticks or tildes that opened the fence; none outside. */
  #fence = "";

  /** As of the last line that is over. */
  get isInside(): boolean {
    return this.#fence !== "";
  }

  /** Nothing but blanks on the current line so far. */
  get isLineBlank(): boolean {
    return this.#line.trim() === "";
  }

  /** What comes next is the start of a line, although no line break was read. */
  startLine(): void {
    this.#endLine();
    this.#line = "";
  }

  read(text: string): void {
    const lastBreak = text.lastIndexOf("\n");
    if (lastBreak === -1) {
      this.#addToLine(text);
      return;
    }
    // Only lines with three backticks or tildes matter; the one that is under way may have some of them already.
    const firstBreak = text.indexOf("\n");
    this.#addToLine(text.slice(0, Math.min(firstBreak, MAX_LINE_LENGTH)));
    this.#endLine();
    let ticks = indexOrEnd(text, "```", firstBreak);
    let tildes = indexOrEnd(text, "~~~", firstBreak);
    for (;;) {
      const at = Math.min(ticks, tildes);
      if (at >= lastBreak) break;
      const start = text.lastIndexOf("\n", at) + 1;
      const end = text.indexOf("\n", at);
      this.#line = text.slice(start, Math.min(end, start + MAX_LINE_LENGTH));
      this.#endLine();
      if (ticks < end) ticks = indexOrEnd(text, "```", end);
      if (tildes < end) tildes = indexOrEnd(text, "~~~", end);
    }
    this.#line = text.slice(lastBreak + 1, lastBreak + 1 + MAX_LINE_LENGTH);
  }

  #addToLine(text: string): void {
    if (this.#line.length < MAX_LINE_LENGTH) this.#line += text.slice(0, MAX_LINE_LENGTH - this.#line.length);
  }

  #endLine(): void {
    const [, fence = "", rest = ""] = /^[ \t]*(`{3,}|~{3,})(.*)$/.exec(this.#line) ?? [];
    this.#line = "";
    if (fence === "") return;
    // A line that opens with backticks has no further one, a closing line nothing more at all.
    if (this.#fence === "") {
      if (fence.startsWith("~") || !rest.includes("`")) this.#fence = fence;
    } else if (fence.startsWith(this.#fence) && rest.trim() === "") this.#fence = "";
  }
}

function indexOrEnd(text: string, word: string, from: number): number {
  const at = text.indexOf(word, from);
  return at === -1 ? text.length : at;
}
