import { Refusal } from "./refusal.ts";

/** How much of one kind of thing each principal has under way, and no more than so many. */
export class Seats {
  readonly #what: string;
  readonly #perPrincipal: number;
  readonly #taken = new Map<string, number>();

  constructor(what: string, perPrincipal: number) {
    this.#what = what;
    this.#perPrincipal = perPrincipal;
  }

  /** Takes a seat; the function given back leaves it. */
  take(principalId: string): () => void {
    const taken = this.#taken.get(principalId) ?? 0;
    if (taken >= this.#perPrincipal) {
      throw new Refusal(429, "rate-limited", `This key has ${taken} ${this.#what} under way, which is the limit.`, {
        code: "too_many_concurrent",
        hint: "Wait for one of them to end, or raise the limit in the settings.",
        retryAfterMs: 1000,
        headers: { "retry-after": "1" },
      });
    }
    this.#taken.set(principalId, taken + 1);
    return () => {
      const left = (this.#taken.get(principalId) ?? 1) - 1;
      if (left === 0) this.#taken.delete(principalId);
      else this.#taken.set(principalId, left);
    };
  }
}
