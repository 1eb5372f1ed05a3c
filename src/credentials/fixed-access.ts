import { hash } from "node:crypto";
import type { AccessTokens } from "../core/access/access.ts";
import type { Secret } from "../core/secret.ts";

/** Returns the same token for every account. It is never renewed. */
export function createFixedAccess(token: Secret): AccessTokens {
  const given = { account: hash("sha256", token.reveal(), "base64url"), token };
  return { get: async () => given, renew: async () => undefined };
}
