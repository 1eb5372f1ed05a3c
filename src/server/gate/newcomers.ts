import type { Principal } from "../../core/turn.ts";
import { Refusal } from "../refusal.ts";

export interface NewcomersOptions {
  /** Requests under way of all tokens that nobody has accepted yet. */
  readonly maxRequests: number;
  /** Largest body of such a request. */
  readonly maxBodyBytes: number;
  /** Has the backend look at a token; throws what it says. */
  readonly verify?: ((principal: Principal, signal: AbortSignal) => Promise<void>) | undefined;
  /** Milliseconds that only grow. */
  readonly now?: () => number;
}

/** How long a token counts as accepted after the backend has last answered for it. */
const ACCEPTED_MS = 3_600_000;
const MAX_ACCEPTED = 4096;

/** A request whose token nobody has accepted yet. */
export interface Newcomer {
  readonly maxBodyBytes: number;
  /** The backend has answered for the token: it is a caller like others from now on. */
  accept(): void;
  /** Asks the backend about the token and throws what it says; false if there is nobody to ask. */
  verify(signal: AbortSignal): Promise<boolean>;
  /** The request is over. */
  leave(): void;
}

/**
 * Callers with a Cursor token that has the right form and may be made up. Until the backend has answered for one, all of
 * them together have a few requests under way with small bodies, so that a flood of made-up tokens costs little.
 */
export class Newcomers {
  readonly #options: NewcomersOptions;
  readonly #now: () => number;
  /** Until when, by principal: its id is a digest of the token. */
  readonly #accepted = new Map<string, number>();
  #underWay = 0;

  constructor(options: NewcomersOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Undefined for a caller that has been accepted; throws if too many are under way that have not. */
  admit(principal: Principal): Newcomer | undefined {
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
    this.#accepted.delete(id);
    this.#accepted.set(id, this.#now() + ACCEPTED_MS);
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size > MAX_ACCEPTED && oldest !== undefined) this.#accepted.delete(oldest);
  }

  /** The backend does not accept it, or not any more. */
  refuse({ id }: Principal): void {
    this.#accepted.delete(id);
  }
}

const tooMany = (): Refusal =>
  new Refusal(429, "rate-limited", "Too many requests with tokens that Cursor has not accepted yet are under way.", {
    code: "too_many_unverified",
    hint: "Try again in a moment. A key of the gateway, and a token that has been answered once, do not wait.",
    retryAfterMs: 1000,
    headers: { "retry-after": "1" },
  });
