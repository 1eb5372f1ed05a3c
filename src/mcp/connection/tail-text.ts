/** The end of a text, up to a number of characters. */
export class TailText {
  readonly #maxChars: number;
  #pieces: string[] = [];
  #chars = 0;

  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  get text(): string {
    return this.#pieces.join("").slice(-this.#maxChars);
  }

  add(piece: string): void {
    const kept = piece.slice(-this.#maxChars);
    this.#pieces.push(kept);
    this.#chars += kept.length;
    // Truncating at every piece would take quadratic time.
    if (this.#chars > 2 * this.#maxChars) {
      this.#pieces = [this.text];
      this.#chars = this.#maxChars;
    }
  }
}
