import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../core/secret.ts";

/** Tells our tokens from Cursor's, which are never to be confused. */
const PREFIX = "exface_";

/** Cursor's clients renew an opaque token after half an hour. */
const LIFETIME_MS = 60 * 60_000;

/**
 * Short-lived tokens that the face gives out for a gateway key. They name a principal, are signed with a secret that is made
 * of the gateway's key, and are worth nothing anywhere else.
 */
export class FaceTokens {
  readonly #secret: Secret;
  readonly #now: () => number;

  constructor(secret: Secret, now: () => number = Date.now) {
    this.#secret = secret;
    this.#now = now;
  }

  static isOne(token: string): boolean {
    return token.startsWith(PREFIX);
  }

  issue(principalId: string): string {
    const claims = JSON.stringify([principalId, this.#now() + LIFETIME_MS]);
    const body = Buffer.from(claims).toString("base64url");
    return `${PREFIX}${body}.${this.#sign(body).toString("base64url")}`;
  }

  /** Returns the id of the principal; undefined if the token is not ours or has expired. */
  read(token: string): string | undefined {
    const [body = "", signature = ""] = token.slice(PREFIX.length).split(".");
    const given = Buffer.from(signature, "base64url");
    const right = this.#sign(body);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    const [principalId, expiresAt] = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as [string, number];
    return expiresAt > this.#now() ? principalId : undefined;
  }

  #sign(body: string): Buffer {
    return createHmac("sha256", this.#secret.reveal()).update(body).digest();
  }
}
