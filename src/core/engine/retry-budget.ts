/**
 * How often a request may be sent again by itself, over all requests: one for every ten. When everything fails, trying
 * it all twice only makes it worse. A few are granted from the start, so that a quiet gateway can try again, too.
 */
export class RetryBudget {
  #credit = MAX_CREDIT;

  /** A request was made for the first time. */
  earn(): void {
    this.#credit = Math.min(MAX_CREDIT, this.#credit + PER_REQUEST);
  }

  /** Whether one may be made again. */
  spend(): boolean {
    if (this.#credit < 1) return false;
    this.#credit--;
    return true;
  }
}

const PER_REQUEST = 0.1;
const MAX_CREDIT = 10;
