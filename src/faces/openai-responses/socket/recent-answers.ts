/** All together, in characters. A key may use half of it. */
const MAX_TOTAL_LENGTH = 128 * 1024 * 1024;

interface Entry {
  readonly principalId: string;
  readonly length: number;
  readonly forget: () => void;
}

/**
 * The memory that the recent answers of all connections share. If it is full, the oldest answers are forgotten; their
 * clients send the conversation again.
 */
export class RecentAnswers {
  readonly #maxLength: number;
  /** By connection, oldest first. */
  readonly #entries = new Map<object, Entry>();

  constructor(maxLength = MAX_TOTAL_LENGTH) {
    this.#maxLength = maxLength;
  }

  get length(): number {
    return this.#lengthOf([...this.#entries.values()]);
  }

  /** Counts the answer of a connection, in place of the one before. Calls `forget` if its memory is needed. */
  keep(connection: object, entry: Entry): void {
    this.release(connection);
    this.#entries.set(connection, entry);
    this.#evict((one) => one.principalId === entry.principalId, this.#maxLength / 2);
    this.#evict(() => true, this.#maxLength);
  }

  release(connection: object): void {
    this.#entries.delete(connection);
  }

  #evict(isCounted: (entry: Entry) => boolean, maxLength: number): void {
    const counted = [...this.#entries].filter(([, entry]) => isCounted(entry));
    let length = this.#lengthOf(counted.map(([, entry]) => entry));
    for (const [connection, entry] of counted) {
      if (length <= maxLength) return;
      length -= entry.length;
      this.#entries.delete(connection);
      entry.forget();
    }
  }

  #lengthOf(entries: readonly Entry[]): number {
    return entries.reduce((sum, { length }) => sum + length, 0);
  }
}
