import type { Awaitable } from "../../core/awaitable.ts";
import { Refusal } from "../refusal.ts";
import type { SharedGate } from "./shared-limits.ts";

/** Limits how many of one kind of thing each principal has in progress. */
export class Seats {
  readonly #what: string;
  readonly #perPrincipal: number;
  readonly #limitOf: (principalId: string) => number | undefined;
  readonly #taken = new Map<string, number>();
  readonly #shared: SharedGate | undefined;

  /**
   * `limitOf` returns the principal's own limit, if it has one. `shared` counts the seats of such principals on all nodes;
   * other limits protect this process, and are its own.
   */
  constructor(
    what: string,
    perPrincipal: number,
    limitOf: (principalId: string) => number | undefined = () => undefined,
    shared?: SharedGate,
  ) {
    this.#shared = shared;
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

  /** The same, on all nodes. While they cannot be asked, this one has its share. */
  takeOnAll(principalId: string): Awaitable<() => void> {
    const free = this.take(principalId);
    const limit = this.#limitOf(principalId);
    return this.#shared && limit !== undefined ? this.#takeShared(this.#shared, principalId, limit, free) : free;
  }

  async #takeShared(shared: SharedGate, principalId: string, limit: number, free: () => void): Promise<() => void> {
    const ours = this.#takenBy(principalId);
    const verdict = await shared.take(this.#what, principalId, ours, limit);
    const isTaken = verdict?.isTaken ?? ours <= Math.max(1, Math.floor(limit / shared.nodes));
    if (!isTaken) {
      free();
      throw this.#refusal(limit);
    }
    return () => {
      free();
      shared.set(this.#what, principalId, this.#takenBy(principalId));
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
