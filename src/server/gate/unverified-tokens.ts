import { BoundedMap } from "../../core/bounded-map.ts";
import type { Principal } from "../../core/turn.ts";
import { Refusal } from "../refusal.ts";

export interface UnverifiedOptions {
  /** Concurrent requests of all unverified tokens together. */
  readonly maxRequests: number;
  /** Largest body of such a request. */
  readonly maxBodyBytes: number;
  /** Verifies a token at the backend; throws the backend's error. */
  readonly verify?: ((principal: Principal, signal: AbortSignal) => Promise<void>) | undefined;
  readonly now?: () => number;
}

/** How long a token counts as accepted after the backend last accepted it. */
const ACCEPTED_MS = 3_600_000;
const MAX_ACCEPTED = 4096;

/** A request whose Cursor token the backend has not accepted yet. */
export interface UnverifiedRequest {
  readonly maxBodyBytes: number;
  /** Records that the backend accepted the token. The limits no longer apply to it. */
  accept(): void;
  /** Verifies the token at the backend and throws its error. Returns false if there is no way to verify. */
  verify(signal: AbortSignal): Promise<boolean>;
  /** Called when the request is over. */
  leave(): void;
}

/**
 * Limits callers whose Cursor token is well-formed but unverified. Until the backend accepts a token, all of them share
 * a few concurrent requests with small bodies, so that a flood of made-up tokens costs little.
 */
export class UnverifiedTokens {
  readonly #options: UnverifiedOptions;
  readonly #now: () => number;
  /** Expiry by principal id, which is a digest of the token. */
  readonly #accepted = new BoundedMap<string, number>(MAX_ACCEPTED);
  #underWay = 0;

  constructor(options: UnverifiedOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Returns undefined for an accepted token. Throws if too many unverified requests are in progress. */
  admit(principal: Principal): UnverifiedRequest | undefined {
    if ((this.#accepted.get(principal.id) ?? Number.NEGATIVE_INFINITY) > this.#now()) return undefined;
    const { maxRequests, maxBodyBytes, verify } = this.#options;
    if (this.#underWay >= maxRequests) throw tooMany();
    this.#underWay++;
    let hasLeft = false;
    const leave = () => {
      if (!hasLeft) this.#underWay--;
      hasLeft = true;
    };
    const accept = () => {
      this.accept(principal);
      leave();
    };
    return {
      maxBodyBytes,
      leave,
      accept,
      verify: async (signal) => {
        if (!verify) return false;
        await verify(principal, signal);
        accept();
        return true;
      },
    };
  }

  accept({ id }: Principal): void {
    this.#accepted.set(id, this.#now() + ACCEPTED_MS);
  }

  /** Called when the backend rejects the token. */
  refuse({ id }: Principal): void {
    this.#accepted.delete(id);
  }
}

const tooMany = (): Refusal =>
  new Refusal(429, "too_many_unverified", [], { retryAfterMs: 1000, headers: { "retry-after": "1" } });
