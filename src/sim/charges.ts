/** What the simulated backend charges for one turn. */
export interface Charge {
  /** The subject of the account. */
  readonly accountId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** As the client named it. */
  readonly conversationId: string;
  readonly model: string;
  /** With the cached tokens. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

/** US dollars for a million tokens; that is a ten-thousandth of a cent for one. The same for every model. */
const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } as const;

/** Older charges are forgotten beyond this. */
const MAX_CHARGES = 100_000;

/**
 * What the turns of all accounts are charged. A turn is charged when it ends, also when the client has cancelled it, and
 * when the client breaks off its stream. A turn that a fault of the backend has ended is not charged.
 */
export class Charges {
  readonly #all: Charge[] = [];

  add(charge: Charge): void {
    this.#all.push(charge);
    if (this.#all.length > MAX_CHARGES) this.#all.splice(0, MAX_CHARGES / 10);
  }

  /** Returns the charges of an account from one moment up to another, oldest first. */
  list(accountId: string, fromMs = Number.NEGATIVE_INFINITY, untilMs = Number.POSITIVE_INFINITY): readonly Charge[] {
    return this.#all.filter((charge) => charge.accountId === accountId && charge.at >= fromMs && charge.at < untilMs);
  }
}

/** Returns what a charge comes to, in cents. */
export function centsOf({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Charge): number {
  const fresh = inputTokens - cacheReadTokens - cacheWriteTokens;
  const { input, output, cacheRead, cacheWrite } = PRICES;
  return (fresh * input + outputTokens * output + cacheReadTokens * cacheRead + cacheWriteTokens * cacheWrite) / 10_000;
}
