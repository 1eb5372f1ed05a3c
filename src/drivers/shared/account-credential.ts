import { hash } from "node:crypto";
import type { AccessToken, AccessTokens } from "../../core/access/access.ts";
import { readClaims } from "../../core/access/token-claims.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { Principal } from "../../core/turn.ts";

export interface AccountCredential {
  /** The account's name if it is signed in here, else a digest of the token. The key of cached model lists. */
  readonly id: string;
  readonly token: Secret;
}

/** Returns the credential for a principal: its own token, else the account of its key. */
export async function credentialOf({ token, account }: Principal, access: AccessTokens): Promise<AccountCredential> {
  return token ? { id: digest(token.reveal()), token } : named(await access.get(account));
}

/**
 * Returns another credential of the same account after a refusal, or undefined if there is none. Throws for a caller's
 * own token, which only the caller can renew.
 */
export async function renewedCredential(
  { token, account }: Principal,
  access: AccessTokens,
  refused: AccountCredential,
): Promise<AccountCredential | undefined> {
  if (token) throw requestTokenRefused(token);
  const renewed = await access.renew(account, refused.token);
  return renewed && named(renewed);
}

/** The hint does not mention `excursor login`, which does not affect a caller's own token. */
function requestTokenRefused(token: Secret): ExcursorError {
  const { expiresAtMs = Number.POSITIVE_INFINITY } = readClaims(token.reveal());
  const isExpired = expiresAtMs <= Date.now();
  const message = isExpired
    ? "The Cursor token of the request has expired."
    : "Cursor's backend rejected the token of the request.";
  return new ExcursorError(isExpired ? "token_expired" : "token_refused", message, {
    hint: "Send a valid Cursor token as the API key, or a key of this gateway.",
  });
}

/** Calls `act` with a credential, and once more with a renewed one if the backend refuses it. */
export async function withCredential<T>(
  principal: Principal,
  access: AccessTokens,
  act: (credential: AccountCredential) => Promise<T>,
): Promise<T> {
  const credential = await credentialOf(principal, access);
  try {
    return await act(credential);
  } catch (error) {
    if (ExcursorError.from(error).kind !== "unauthenticated") throw error;
    const renewed = await renewedCredential(principal, access, credential);
    if (!renewed) throw error;
    return act(renewed);
  }
}

const named = ({ account, token }: AccessToken): AccountCredential => ({ id: account, token });

/**
 * Returns a function for the owner of conversations: the principal and the account, which stays the same when the token
 * is renewed. The account is the token's own unverified claim, so it counts only together with the principal.
 */
export function createOwners(): (principal: Principal, credential: AccountCredential) => string {
  const accounts = new WeakMap<Secret, string>();
  return ({ id }, { token }) => {
    const account = accounts.get(token) ?? digest(readClaims(token.reveal()).subject ?? token.reveal());
    accounts.set(token, account);
    return `${id} ${account}`;
  };
}

const digest = (text: string): string => hash("sha256", text, "base64url");
