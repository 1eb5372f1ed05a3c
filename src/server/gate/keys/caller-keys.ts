import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { readCursorToken } from "../../../config/cursor-token.ts";
import { guestId } from "../../../core/access/guest.ts";
import { Secret } from "../../../core/secret.ts";
import type { Principal } from "../../../core/turn.ts";
import { digestOf } from "./digest.ts";
import type { KnownKeys } from "./known-keys.ts";

export interface CredentialOptions {
  readonly key: Secret;
  readonly allowsTokens: boolean;
  /** The keys issued beside the owner's key. */
  readonly keys?: KnownKeys | undefined;
}

/** Who sent a request, by its credentials. */
export type Identity =
  | { readonly type: "known"; readonly principal: Principal }
  | { readonly type: "missing" }
  /** The digest is only used to tell repeated wrong keys from different ones. */
  | { readonly type: "wrong"; readonly digest: string };

/** The holder of the gateway's own key. The id stays the same when the key changes. */
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
      // Revealing the length is acceptable: a digest of every key would cost more than the rest of the gate.
      if (bytes.length === right.length && timingSafeEqual(bytes, right)) return { type: "known", principal: OWNER };
      const digest = digestOf(given);
      const issued = keys?.withDigest(digest.toString("latin1"));
      // The map lookup is not constant-time, so the digest is compared again.
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

/** Returns the keys from both headers; some clients send both. */
function presented({ headers }: IncomingMessage): string[] {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "")?.[1];
  const header = headers["x-api-key"];
  return [bearer, typeof header === "string" ? header.trim() : undefined].filter(
    (given): given is string => given !== undefined && given !== "",
  );
}

/** The id is a digest of the whole token, not of its claims: the signature is unverified. */
const guest = (token: string): Principal => ({
  id: guestId(hash("sha256", token, "base64url")),
  token: new Secret(token),
});
