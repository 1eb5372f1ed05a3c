import { hash, randomBytes } from "node:crypto";
import { BoundedMap } from "../core/bounded-map.ts";

/** How long a link can be used. */
export const LINK_MS = 60_000;

/** More links than this at a time are no person's. The oldest is dropped. */
const MAX_LINKS = 16;

/** Links that open the dashboard once, within a minute (SEC-47). Only digests of their codes are kept. */
export class OneTimeLinks {
  /** The time at which each link ends, by the digest of its code. */
  readonly #ends = new BoundedMap<string, number>(MAX_LINKS);
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Returns the code of a new link. */
  create(): string {
    const code = randomBytes(32).toString("base64url");
    this.#ends.set(digestOf(code), this.#now() + LINK_MS);
    return code;
  }

  /** True if there is such a link. It may be over. */
  has(code: string): boolean {
    return this.#ends.has(digestOf(code));
  }

  /** Uses up a link. Returns false if it is unknown, used or over. */
  redeem(code: string): boolean {
    const digest = digestOf(code);
    const end = this.#ends.get(digest);
    this.#ends.delete(digest);
    return end !== undefined && this.#now() < end;
  }
}

const digestOf = (code: string): string => hash("sha256", code, "base64url");
