import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../../core/secret.ts";

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Tells our tokens from Cursor's, which are never to be confused: no issuer but us names this key. */
const PREFIX = `${encode({ alg: "HS256", kid: "excursor", typ: "JWT" })}.`;

/** As Cursor's own for an API key. */
const LIFETIME_S = 60 * 60;

/**
 * Short-lived tokens that the face gives out for a gateway key. They name a principal, are signed with a secret that is made
 * of the gateway's key, and are worth nothing anywhere else. They are JWTs, because clients read from them when they expire.
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

  /** Returns the first token of ours in a text. */
  static findIn(text: string): string | undefined {
    const start = text.indexOf(PREFIX);
    return start === -1 ? undefined : /^[\w.-]*/.exec(text.slice(start))?.[0];
  }

  issue(principalId: string): string {
    const now = Math.floor(this.#now() / 1000);
    const body = PREFIX + encode({ sub: principalId, iat: now, exp: now + LIFETIME_S });
    return `${body}.${this.#sign(body).toString("base64url")}`;
  }

  /** Returns the id of the principal; undefined if the token is not ours or has expired. */
  read(token: string): string | undefined {
    const end = token.lastIndexOf(".");
    const given = Buffer.from(token.slice(end + 1), "base64url");
    const right = this.#sign(token.slice(0, end));
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    const claims = Buffer.from(token.slice(PREFIX.length, end), "base64url").toString("utf8");
    const { sub, exp } = JSON.parse(claims) as { readonly sub: string; readonly exp: number };
    return exp * 1000 > this.#now() ? sub : undefined;
  }

  /** Returns the key with which the clients of a principal encrypt the paths of a workspace. */
  pathKeyOf(principalId: string): string {
    return this.#sign(`paths of ${principalId}`).toString("base64url");
  }

  #sign(body: string): Buffer {
    return createHmac("sha256", this.#secret.reveal()).update(body).digest();
  }
}
