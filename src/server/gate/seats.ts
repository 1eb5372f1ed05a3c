import { Refusal } from "../refusal.ts";

/** Limits how many of one kind of thing each principal has in progress. */
export class Seats {
  readonly #what: string;
  readonly #perPrincipal: number;
  readonly #limitOf: (principalId: string) => number | undefined;
  readonly #taken = new Map<string, number>();

  /** `limitOf` returns the principal's own limit, if it has one. */
  constructor(
    what: string,
    perPrincipal: number,
    limitOf: (principalId: string) => number | undefined = () => undefined,
  ) {
    this.#what = what;
    this.#perPrincipal = perPrincipal;
    this.#limitOf = limitOf;
  }

  /** Seats taken by all principals together. */
  get taken(): number {
    let total = 0;
    for (const taken of this.#taken.values()) total += taken;
    return total;
  }

  /** Takes a seat, and returns the function that frees it. Throws if none is free. */
  take(principalId: string): () => void {
    const taken = this.#takenBy(principalId);
    if (taken >= (this.#limitOf(principalId) ?? this.#perPrincipal)) throw this.#refusal(taken);
    this.#taken.set(principalId, taken + 1);
    return () => {
      const left = this.#takenBy(principalId) - 1;
      if (left <= 0) this.#taken.delete(principalId);
      else this.#taken.set(principalId, left);
    };
  }

  #takenBy(principalId: string): number {
    return this.#taken.get(principalId) ?? 0;
  }

  #refusal(limit: number): Refusal {
    return new Refusal(429, "too_many_concurrent", [limit, this.#what], {
      retryAfterMs: 1000,
      headers: { "retry-after": "1" },
    });
  }
}
