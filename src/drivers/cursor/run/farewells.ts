/** Limit on streams that wait for their end. Above it streams are reset. */
const MAX_FAREWELLS = 256;
/** Limit per principal, so that one principal's cancellations do not cause resets for others. */
const MAX_OF_ONE = 32;

/** Counts a driver's abandoned streams until the backend has ended them. */
export class Farewells {
  readonly #byPrincipal = new Map<string, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns the function to call when the stream is over, or undefined if the limit is reached. */
  take(principalId: string): (() => void) | undefined {
    const own = this.#byPrincipal.get(principalId) ?? 0;
    if (own >= MAX_OF_ONE || this.#size >= MAX_FAREWELLS) return undefined;
    this.#byPrincipal.set(principalId, own + 1);
    this.#size++;
    return () => {
      this.#size--;
      const left = (this.#byPrincipal.get(principalId) ?? 0) - 1;
      if (left > 0) this.#byPrincipal.set(principalId, left);
      else this.#byPrincipal.delete(principalId);
    };
  }
}
