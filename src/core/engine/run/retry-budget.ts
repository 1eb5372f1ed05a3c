/**
 * Limits automatic retries over all requests to one for every ten, since retrying everything makes an outage worse. A few
 * retries are granted from the start, so that a gateway with little traffic can retry, too.
 */
export class RetryBudget {
  #credit = MAX_CREDIT;
  #granted = 0;
  #refused = 0;

  /** Counts a request that is not a retry. */
  earn(): void {
    this.#credit = Math.min(MAX_CREDIT, this.#credit + PER_REQUEST);
  }

  /** Takes one retry. Returns false if none is left. */
  spend(): boolean {
    if (this.#credit < 1) {
      this.#refused++;
      return false;
    }
    this.#credit--;
    this.#granted++;
    return true;
  }

  stats(): RetryStats {
    return { credit: this.#credit, granted: this.#granted, refused: this.#refused };
  }
}

export interface RetryStats {
  /** How many retries are left now. Not always a whole number. */
  readonly credit: number;
  /** Since the start. */
  readonly granted: number;
  /** Since the start. */
  readonly refused: number;
}

const PER_REQUEST = 0.1;
const MAX_CREDIT = 10;
