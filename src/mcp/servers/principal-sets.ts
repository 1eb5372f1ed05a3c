import { ExcursorError } from "../../core/errors.ts";
import type { ServerSet } from "./server-set.ts";

export interface PrincipalSetsOptions {
  readonly create: (principalId: string) => ServerSet;
  /** Each set may run a dozen programs. */
  readonly max: number;
  /** How long the programs of an unused set keep running. */
  readonly idleMs: number;
}

/** A set of servers for each principal that may use any. The least recently used set is closed for a new one. */
export class PrincipalSets {
  readonly #options: PrincipalSetsOptions;
  readonly #sets = new Map<string, { readonly set: ServerSet; timer: NodeJS.Timeout }>();

  constructor(options: PrincipalSetsOptions) {
    this.#options = options;
  }

  get all(): readonly (readonly [id: string, set: ServerSet])[] {
    return [...this.#sets].map(([id, { set }]) => [id, set] as const);
  }

  for(id: string): ServerSet {
    const known = this.#sets.get(id);
    if (!known && this.#sets.size >= this.#options.max) this.#makeRoom();
    const set = known?.set ?? this.#options.create(id);
    clearTimeout(known?.timer);
    // Moves it to the end, as the most recently used.
    this.#sets.delete(id);
    this.#sets.set(id, { set, timer: this.#restLater(set) });
    return set;
  }

  async close(): Promise<void> {
    const sets = [...this.#sets.values()];
    this.#sets.clear();
    for (const { timer } of sets) clearTimeout(timer);
    await Promise.all(sets.map(({ set }) => set.close()));
  }

  #restLater(set: ServerSet): NodeJS.Timeout {
    return setInterval(() => void set.rest(), this.#options.idleMs).unref();
  }

  #makeRoom(): void {
    const found = [...this.#sets].find(([, { set }]) => !set.isBusy);
    if (!found) {
      throw new ExcursorError("mcp_too_many_keys");
    }
    const [id, { set, timer }] = found;
    clearTimeout(timer);
    this.#sets.delete(id);
    void set.close();
  }
}
