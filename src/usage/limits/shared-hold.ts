import type { Amounts, SharedSpending, SpendRequest, SpendVerdict } from "./shared-spending.ts";

export interface SharedHoldParts {
  readonly shared: SharedSpending;
  readonly request: SpendRequest;
  /** Grows with what is used. */
  readonly used: Readonly<Amounts>;
  readonly reserved: Amounts;
  /** Returns the error of a request for which nothing is left. */
  readonly refuse: (verdict: Exclude<SpendVerdict, { readonly type: "held" }>) => Error;
  /** Extends what is reserved while the cluster cannot be asked. Throws if nothing is left of this node's share. */
  readonly extendAlone: () => void;
}

/** More is asked for when this part of what is reserved is used, so that the answer need not wait. */
const EARLY = 3 / 4;

/** What the cluster has set aside for one request. It is asked again each time the request has used twice as much. */
export class SharedHold {
  readonly #parts: SharedHoldParts;
  #isAsking = false;
  #isAlone = false;
  #refusal: Error | undefined;

  constructor(parts: SharedHoldParts) {
    this.#parts = parts;
  }

  /** Called when the request has used more. Throws if it has used up what was reserved and there is nothing left. */
  extend(): void {
    const { used, reserved, extendAlone } = this.#parts;
    if (this.#isAlone) {
      extendAlone();
      return;
    }
    const isUsed = this.#units().some((unit) => used[unit] > reserved[unit]);
    if (this.#refusal && isUsed) throw this.#refusal;
    if (!this.#isAsking && this.#units().some((unit) => used[unit] > reserved[unit] * EARLY)) void this.#ask();
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    const { shared, request, used, reserved, refuse } = this.#parts;
    const more = { tokens: 0, dollars: 0 };
    for (const unit of this.#units()) {
      if (used[unit] <= reserved[unit] * EARLY) continue;
      more[unit] = Math.max(used[unit] * 2 - reserved[unit], 1);
    }
    const verdict = await shared.extend(request, more);
    if (!verdict) this.#isAlone = true;
    else if (verdict.type === "held") {
      for (const unit of this.#units()) reserved[unit] += verdict.amounts[unit];
    } else this.#refusal = refuse(verdict);
    // After a refusal nothing is asked again: the request goes on with what it has.
    this.#isAsking = this.#refusal !== undefined;
  }

  #units(): readonly (keyof Amounts)[] {
    return this.#parts.request.claims.map(({ unit }) => unit);
  }
}
