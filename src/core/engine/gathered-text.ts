/** How many pieces are collected before they are joined. */
const MAX_PIECES = 256;

/**
 * Collects a long text that comes in small pieces. Appending to a string with `+=` makes V8 keep every piece and a node for
 * each until the string is read, which takes about ten times the memory of the text.
 */
export class GatheredText {
  #whole = "";
  #pieces: string[] = [];

  add(piece: string): void {
    if (this.#pieces.push(piece) >= MAX_PIECES) this.#join();
  }

  /** Returns the text so far, and starts an empty one. */
  take(): string {
    this.#join();
    const text = this.#whole;
    this.#whole = "";
    return text;
  }

  #join(): void {
    this.#whole += this.#pieces.join("");
    this.#pieces = [];
  }
}
