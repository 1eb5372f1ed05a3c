/** Only so many characters of a line are kept, which is enough to recognise a fence. */
const MAX_LINE_LENGTH = 256;

/** Tells whether a stream of Markdown text is inside a fenced code block. The pieces of text may be cut anywhere. */
export class CodeFences {
  /** The beginning of the current line. */
  #line = "";
  /** The backticks or tildes that opened the fence; empty outside of code. */
  #fence = "";

  /** True if the last complete line was inside a fence or opened one. */
  get isInside(): boolean {
    return this.#fence !== "";
  }

  /** True if the current line has only white space so far. */
  get isLineBlank(): boolean {
    return this.#line.trim() === "";
  }

  /** Begins a new line without a line break. */
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
    // Only lines with three backticks or tildes matter. The first line may have begun in an earlier piece.
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
    const [, fence = "", rest = ""] = /^[ \t]*(`{3,}|~{3,})(.*)$/s.exec(this.#line) ?? [];
    this.#line = "";
    if (fence === "") return;
    // An opening line with backticks has no further backtick; a closing line has nothing else.
    if (this.#fence === "") {
      if (fence.startsWith("~") || !rest.includes("`")) this.#fence = fence;
    } else if (fence.startsWith(this.#fence) && rest.trim() === "") this.#fence = "";
  }
}

function indexOrEnd(text: string, word: string, from: number): number {
  const at = text.indexOf(word, from);
  return at === -1 ? text.length : at;
}
