import type { Limits } from "../../config/limits.ts";
import { Refusal } from "../refusal.ts";

export interface BodyBudgetOptions {
  readonly maxBytes: number;
  /** For one sender. At least the largest allowed body. */
  readonly maxShareBytes: number;
}

/**
 * Limits the memory of unfinished request bodies, in all and per sender. Bytes count when they arrive, so announcing a
 * large body reserves nothing.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  readonly #shares = new Map<string, number>();
  #bytes = 0;

  /** Creates the budget of the settings. One sender may use half of it. */
  static within({ bodiesBytes, bodyBytes }: Pick<Limits, "bodiesBytes" | "bodyBytes">): BodyBudget {
    return new BodyBudget({ maxBytes: bodiesBytes, maxShareBytes: Math.max(bodiesBytes / 2, bodyBytes) });
  }

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws if a body of this size does not fit now. */
  check(sender: string, bytes: number): void {
    const { maxBytes, maxShareBytes } = this.#options;
    if (this.#bytes + bytes <= maxBytes && (this.#shares.get(sender) ?? 0) + bytes <= maxShareBytes) return;
    throw new Refusal(503, "too_many_bodies", [], { retryAfterMs: 1000, headers: { "retry-after": "1" } });
  }

  /** Counts bytes that have arrived. A negative number releases them. */
  add(sender: string, bytes: number): void {
    this.#bytes += bytes;
    const share = (this.#shares.get(sender) ?? 0) + bytes;
    if (share === 0) this.#shares.delete(sender);
    else this.#shares.set(sender, share);
  }
}
