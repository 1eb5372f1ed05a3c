export class BodyCollector {
  readonly #maxBytes: number;
  readonly #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Returns false if the body is too long; the excess is dropped. */
  push(chunk: Uint8Array): boolean {
    const room = this.#maxBytes - this.#length;
    const kept = chunk.length > room ? chunk.subarray(0, room) : chunk;
    this.#chunks.push(kept);
    this.#length += kept.length;
    return kept === chunk;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks, this.#length);
  }
}
