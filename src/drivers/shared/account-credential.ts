import { hash } from "node:crypto";
import type { AccessToken, AccessTokens } from "../../core/access.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { readClaims } from "../../core/token-claims.ts";
import type { Principal } from "../../core/turn.ts";

/** A token of a Cursor account, for one call. */
export interface AccountCredential {
  /** The account's name if it is signed in here, else a digest of the token. Model lists are cached by it. */
  readonly id: string;
  readonly token: Secret;
}

/** The account that answers for a principal: the one it brought, else the one that its key is bound to. */
export async function credentialOf({ token, account }: Principal, access: AccessTokens): Promise<AccountCredential> {
  return token ? { id: digest(token.reveal()), token } : named(await access.get(account));
}

/**
 * Returns another credential of the same account, after the backend has refused this one; undefined if there is none. What
 * a caller brought is the caller's to renew: then it throws, saying so.
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

/** A login of the gateway's own would change nothing for a caller that brings a token. */
function requestTokenRefused(token: Secret): ExcursorError {
  const { expiresAtMs = Number.POSITIVE_INFINITY } = readClaims(token.reveal());
  const isExpired = expiresAtMs <= Date.now();
  const message = isExpired
    ? "The Cursor token that came with the request has expired."
    : "Cursor's backend does not accept the token that came with the request.";
  return new ExcursorError("unauthenticated", message, {
    code: isExpired ? "token_expired" : "token_refused",
    hint: "Send a current Cursor token as the API key, or a key of this gateway.",
  });
}

/** Does something in the name of an account, and once more with a new token if the backend refuses this one. */
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
 * Whose conversations these are: the account, which stays the same when its token is renewed. It is what the token
 * says of itself, unproven, so it counts only beside the principal, who has proved something.
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
