import type { Limits } from "../../config/limits.ts";
import type { Awaitable } from "../../core/awaitable.ts";
import type { Principal } from "../../core/turn.ts";
import { BodyBudget } from "./body-budget.ts";
import type { RequestCounter } from "./request-counter.ts";
import { RequestRate } from "./request-rate.ts";
import { Seats } from "./seats.ts";
import { type UnverifiedRequest, UnverifiedTokens } from "./unverified-tokens.ts";

export interface AdmissionOptions {
  readonly limits: Limits;
  /** Returns how many answers of a principal may be streamed at once, if it has a limit of its own. */
  readonly streamsOf?: ((principalId: string) => number | undefined) | undefined;
  /** Returns how many requests a principal may make in a minute; undefined if there is no limit. */
  readonly requestsPerMinuteOf?: ((principalId: string) => number | undefined) | undefined;
  /** Default: the requests of this process count. */
  readonly requestCounter?: RequestCounter | undefined;
  /** Verifies a Cursor token at the backend; throws the backend's error. */
  readonly verifyToken?: ((principal: Principal, signal: AbortSignal) => Promise<void>) | undefined;
}

/** What a request holds while it is under way. */
export interface Seat {
  /** Rejects if the request is one too many in its minute. Not a promise if that is known at once. */
  readonly admitted: Awaitable<void>;
  /** Set while the backend has not yet accepted the caller's Cursor token. */
  readonly unverified: UnverifiedRequest | undefined;
  /** Takes one of the caller's streams, until the seat is left. Throws if none is free. */
  takeStream(): void;
  /** The backend has refused the caller's token. */
  refuseToken(): void;
  /** The request is over. */
  leave(): void;
}

/** Admits the requests of known callers. One for all listeners: what a caller may do does not depend on where it asks. */
export class Admission {
  /** Limits what all listeners hold of unfinished requests. */
  readonly bodies: BodyBudget;
  readonly #requests: Seats;
  readonly #streams: Seats;
  readonly #rate: RequestRate;
  readonly #unverified: UnverifiedTokens;

  constructor({ limits, ...options }: AdmissionOptions) {
    this.bodies = BodyBudget.within(limits);
    this.#requests = new Seats("requests", limits.requestsPerKey);
    this.#streams = new Seats("streamed answers", limits.streamsPerKey, options.streamsOf);
    this.#rate = new RequestRate(options.requestsPerMinuteOf ?? (() => undefined), options.requestCounter);
    this.#unverified = new UnverifiedTokens({
      maxRequests: limits.unverifiedRequests,
      maxBodyBytes: limits.unverifiedBodyBytes,
      verify: options.verifyToken,
    });
  }

  /** How many answers are streamed. */
  get streams(): number {
    return this.#streams.taken;
  }

  /** Called by every listener once it knows the caller. Throws if there is no room. `isCounted` is false for what is no question. */
  seat(principal: Principal, isCounted = true): Seat {
    const held = [this.#requests.take(principal.id)];
    let hasLeft = false;
    const leave = () => {
      hasLeft = true;
      for (const free of held.splice(0)) free();
    };
    try {
      const unverified = principal.token && isCounted ? this.#unverified.admit(principal) : undefined;
      if (unverified) held.push(unverified.leave);
      return {
        admitted: isCounted ? this.#rate.admit(principal.id) : undefined,
        unverified,
        takeStream: () => hasLeft || held.push(this.#streams.take(principal.id)),
        refuseToken: () => principal.token && this.#unverified.refuse(principal),
        leave,
      };
    } catch (error) {
      leave();
      throw error;
    }
  }
}
