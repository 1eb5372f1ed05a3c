import type { Limits } from "../../config/settings.ts";
import { Refusal } from "../refusal.ts";

export interface BodyBudgetOptions {
  /** Of all bodies that are being received. */
  readonly maxBytes: number;
  /** Of one sender's; never less than the largest body. */
  readonly maxShareBytes: number;
}

/**
 * Holds down what all unfinished request bodies take together, and what one sender has of it. Bytes count when they are
 * there: whoever announces much and sends nothing takes nothing from others.
 */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  readonly #shares = new Map<string, number>();
  #bytes = 0;

  /** A budget as the settings have it: one sender may hold half of it. */
  static within({ bodiesBytes, bodyBytes }: Pick<Limits, "bodiesBytes" | "bodyBytes">): BodyBudget {
    return new BodyBudget({ maxBytes: bodiesBytes, maxShareBytes: Math.max(bodiesBytes / 2, bodyBytes) });
  }

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  /** What is held at this moment. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Throws if a body of this size has no room now. */
  check(sender: string, bytes: number): void {
    const { maxBytes, maxShareBytes } = this.#options;
    if (this.#bytes + bytes <= maxBytes && (this.#shares.get(sender) ?? 0) + bytes <= maxShareBytes) return;
    throw new Refusal(503, "busy", "The gateway is receiving too many large requests at once.", {
      code: "too_many_bodies",
      hint: "Try again in a moment.",
      retryAfterMs: 1000,
      headers: { "retry-after": "1" },
    });
  }

  /** Counts bytes that have arrived; a negative number gives them back. */
  add(sender: string, bytes: number): void {
    this.#bytes += bytes;
    const share = (this.#shares.get(sender) ?? 0) + bytes;
    if (share === 0) this.#shares.delete(sender);
    else this.#shares.set(sender, share);
  }
}
