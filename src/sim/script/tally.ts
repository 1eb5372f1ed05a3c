import { BoundedMap } from "../../core/bounded-map.ts";
/**
 * Counts faults and failures by account, script and step, so that `times=N` holds across retries of a client. A
 * completed script is forgotten.
 */
export class Tally {
  /** Bounded, because a client may never retry. */
  readonly #counts: BoundedMap<string, Map<number, number>>;

  constructor(maxScripts = 10_000) {
    this.#counts = new BoundedMap(maxScripts);
  }

  /** Returns true and counts, if the fault is to happen once more. */
  take(account: string, script: string, step: number, times: number): boolean {
    const key = keyOf(account, script);
    const steps = this.#counts.get(key) ?? new Map<number, number>();
    const count = steps.get(step) ?? 0;
    if (count >= times) return false;
    steps.set(step, count + 1);
    this.#counts.set(key, steps);
    return true;
  }

  forget(account: string, script: string): void {
    this.#counts.delete(keyOf(account, script));
  }
}

const keyOf = (account: string, script: string): string => JSON.stringify([account, script]);
