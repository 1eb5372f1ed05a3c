/** How many pieces are kept apart before they are joined. */
const MAX_PIECES = 256;

/**
 * A long text that comes in small pieces. Adding to a string would keep every piece and a node for it, ten times the
 * text, for as long as nobody reads it.
 */
export class GatheredText {
  #whole = "";
  #pieces: string[] = [];

  add(piece: string): void {
    if (this.#pieces.push(piece) >= MAX_PIECES) this.#join();
  }

  /** All of it; what comes next begins anew. */
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
