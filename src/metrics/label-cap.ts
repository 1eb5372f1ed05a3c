/** The value of a label whose own values are used up. */
const OTHER = "other";

const MAX_LENGTH = 128;

/** The first so many different values of a label are kept; all later ones become `other`. */
export class LabelCap {
  readonly #max: number;
  readonly #known = new Set<string>();

  constructor(max: number) {
    this.#max = max;
  }

  of(given: string): string {
    const value = given.slice(0, MAX_LENGTH);
    if (this.#known.has(value)) return value;
    if (this.#known.size >= this.#max) return OTHER;
    this.#known.add(value);
    return value;
  }
}
