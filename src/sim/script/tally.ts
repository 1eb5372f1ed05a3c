/**
 * How often a fault or failure has happened, by account, script and step, so that `times=N` holds over the
 * attempts of a client that tries again. A script that completes is forgotten.
 */
export class Tally {
  readonly #counts = new Map<string, Map<number, number>>();
  readonly #maxScripts: number;

  constructor(maxScripts = 10_000) {
    this.#maxScripts = maxScripts;
  }

  /** Whether it is to happen once more; counts it if so. */
  take(account: string, script: string, step: number, times: number): boolean {
    const key = keyOf(account, script);
    const steps = this.#counts.get(key) ?? new Map<number, number>();
    const count = steps.get(step) ?? 0;
    if (count >= times) return false;
    steps.set(step, count + 1);
    this.#counts.delete(key);
    this.#counts.set(key, steps);
    // The oldest go first: whoever scripts a fault and never comes back must not cost memory for ever.
    const oldest = this.#counts.keys().next();
    if (this.#counts.size > this.#maxScripts && !oldest.done) this.#counts.delete(oldest.value);
    return true;
  }

  forget(account: string, script: string): void {
    this.#counts.delete(keyOf(account, script));
  }
}

const keyOf = (account: string, script: string): string => JSON.stringify([account, script]);
