/** No line that opens or closes a fence needs to be longer. */
const MAX_LINE_LENGTH = 256;

/** Follows Markdown's fenced code through a stream of text, whatever its cut. */
export class CodeFences {
  /** The beginning of the line that is not over yet. */
  #line = "";
  /** The backticks that opened the fence; 0 outside. */
  #ticks = 0;

  /** As of the last line that is over. */
  get isInside(): boolean {
    return this.#ticks > 0;
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
    // Only lines with three backticks matter; the one that is under way may have some of them already.
    const firstBreak = text.indexOf("\n");
    this.#addToLine(text.slice(0, Math.min(firstBreak, MAX_LINE_LENGTH)));
    this.#endLine();
    let at = text.indexOf("```", firstBreak);
    while (at !== -1 && at < lastBreak) {
      const start = text.lastIndexOf("\n", at) + 1;
      const end = text.indexOf("\n", at);
      this.#line = text.slice(start, Math.min(end, start + MAX_LINE_LENGTH));
      this.#endLine();
      at = text.indexOf("```", end);
    }
    this.#line = text.slice(lastBreak + 1, lastBreak + 1 + MAX_LINE_LENGTH);
  }

  #addToLine(text: string): void {
    if (this.#line.length < MAX_LINE_LENGTH) this.#line += text.slice(0, MAX_LINE_LENGTH - this.#line.length);
  }

  #endLine(): void {
    const [, ticks = "", rest = ""] = /^[ \t]*(`{3,})(.*)$/.exec(this.#line) ?? [];
    this.#line = "";
    if (ticks === "") return;
    // An opening line has no further backtick, a closing one nothing more at all.
    if (this.#ticks === 0) {
      if (!rest.includes("`")) this.#ticks = ticks.length;
    } else if (ticks.length >= this.#ticks && rest.trim() === "") this.#ticks = 0;
  }
}
