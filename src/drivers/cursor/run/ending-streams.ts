/** Limit on streams that wait for their end. Above it streams are reset. */
const MAX_ENDING = 256;
/** Limit per principal, so that one principal's cancellations do not cause resets for others. */
const MAX_OF_ONE = 32;

/** How long {@link EndingStreams.settle} waits. Backends end a stream at once after a cancel. */
const SETTLE_MS = 1000;

/** Counts a driver's abandoned streams until the backend has ended them. */
export class EndingStreams {
  readonly #byPrincipal = new Map<string, number>();
  #size = 0;
  #onEmpty: (() => void) | undefined;

  get size(): number {
    return this.#size;
  }

  /** Waits until all are over, for a short time: the backend still reports what they have used. */
  async settle(): Promise<void> {
    if (this.#size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, SETTLE_MS);
      this.#onEmpty = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Returns the function to call when the stream is over, or undefined if the limit is reached. */
  take(principalId: string): (() => void) | undefined {
    const own = this.#byPrincipal.get(principalId) ?? 0;
    if (own >= MAX_OF_ONE || this.#size >= MAX_ENDING) return undefined;
    this.#byPrincipal.set(principalId, own + 1);
    this.#size++;
    return () => {
      this.#size--;
      if (this.#size === 0) this.#onEmpty?.();
      const left = (this.#byPrincipal.get(principalId) ?? 0) - 1;
      if (left > 0) this.#byPrincipal.set(principalId, left);
      else this.#byPrincipal.delete(principalId);
    };
  }
}
