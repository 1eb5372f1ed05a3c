/** Nonces kept at most. At the limit, further requests are refused: their turns are answered where they arrived. */
const MAX_NONCES = 500_000;

/** Remembers the nonces of internal requests, so that none is accepted twice. */
export class SeenNonces {
  readonly #windowMs: number;
  #since = 0;
  #current = new Set<string>();
  #previous = new Set<string>();

  /** A nonce is remembered for at least this long. */
  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Returns false if the nonce was used before, or there is no room. */
  use(nonce: string, nowMs: number): boolean {
    if (Math.abs(nowMs - this.#since) > this.#windowMs) {
      this.#previous = this.#current;
      this.#current = new Set();
      this.#since = nowMs;
    }
    if (this.#current.has(nonce) || this.#previous.has(nonce) || this.#current.size >= MAX_NONCES) return false;
    this.#current.add(nonce);
    return true;
  }
}
