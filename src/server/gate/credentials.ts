import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { readCursorToken } from "../../config/cursor-token.ts";
import { guestId } from "../../core/guest.ts";
import { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";
import { digestOf } from "./digest.ts";
import type { KnownKeys } from "./known-keys.ts";

export interface CredentialOptions {
  readonly key: Secret;
  /** Whether a Cursor token may come in place of the key. */
  readonly allowsTokens: boolean;
  /** The keys that were given out beside it. */
  readonly keys?: KnownKeys | undefined;
}

/** Who a request says it comes from. */
export type Identity =
  | { readonly type: "known"; readonly principal: Principal }
  | { readonly type: "missing" }
  /** The digest tells one wrong key from another; it is kept nowhere else. */
  | { readonly type: "wrong"; readonly digest: string };

/** Whoever has the gateway's key: the same one through every change of the key. */
export const OWNER: Principal = { id: "owner", token: undefined };

export const isOwner = ({ id }: Principal): boolean => id === OWNER.id;

export function createIdentify({
  key,
  allowsTokens,
  keys,
}: CredentialOptions): (request: IncomingMessage, more: readonly string[]) => Identity {
  const right = Buffer.from(key.reveal());
  return (request, more) => {
    let wrong: Buffer | undefined;
    for (const given of [...presented(request), ...more]) {
      const bytes = Buffer.from(given);
      // How long it is may be known; a digest of every key that comes would cost more than the rest of the gate.
      if (bytes.length === right.length && timingSafeEqual(bytes, right)) return { type: "known", principal: OWNER };
      const digest = digestOf(given);
      const issued = keys?.withDigest(digest.toString("latin1"));
      // Once more in constant time: the map compares as it likes.
      if (issued && timingSafeEqual(digest, Buffer.from(issued.digest, "latin1"))) {
        return { type: "known", principal: { id: issued.id, token: undefined, account: issued.account } };
      }
      const token = allowsTokens ? readCursorToken(given) : undefined;
      if (token !== undefined) return { type: "known", principal: guest(token) };
      wrong ??= digest;
    }
    return wrong ? { type: "wrong", digest: wrong.toString("latin1") } : { type: "missing" };
  };
}

/** Clients put the key here or there, and some put it in both places. */
function presented({ headers }: IncomingMessage): string[] {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  const header = headers["x-api-key"];
  return [bearer, typeof header === "string" ? header.trim() : undefined].filter(
    (given): given is string => given !== undefined && given !== "",
  );
}

/** The whole token decides, not what it claims: nobody has checked its signature yet. */
const guest = (token: string): Principal => ({
  id: guestId(hash("sha256", token, "base64url")),
  token: new Secret(token),
});
