/** Streams that wait for their end at the same time; more are reset. */
const MAX_FAREWELLS = 256;
/** Of one principal: on a slow backend, nobody's cancels make resets of another's. */
const MAX_OF_ONE = 32;

/** Counts the streams of one driver that nobody reads any more, until the backend has ended them. */
export class Farewells {
  readonly #byPrincipal = new Map<string, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Gives what is to be called when the stream is over; undefined if there is no room for another one. */
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
