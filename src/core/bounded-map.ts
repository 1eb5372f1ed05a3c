interface Eviction<Key, Value> {
  /** Entries that stay although they are the oldest; the map may then hold more. */
  readonly isBusy?: (value: Value) => boolean;
  readonly onEvicted?: (value: Value, key: Key) => void;
}

/** A map that evicts its oldest entries. An entry that is set becomes the newest; that one is never evicted. */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #max: number;
  readonly #eviction: Eviction<Key, Value>;

  constructor(max: number, eviction: Eviction<Key, Value> = {}) {
    super();
    this.#max = max;
    this.#eviction = eviction;
  }

  override set(key: Key, value: Value): this {
    this.delete(key);
    super.set(key, value);
    if (this.size <= this.#max) return this;
    for (const [oldest, old] of this) {
      if (this.size <= this.#max || oldest === key) break;
      if (this.#eviction.isBusy?.(old)) continue;
      this.delete(oldest);
      this.#eviction.onEvicted?.(old, oldest);
    }
    return this;
  }
}
