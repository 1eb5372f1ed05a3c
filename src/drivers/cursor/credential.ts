import { hash } from "node:crypto";
import type { AccessToken, AccessTokens } from "../../core/access.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { readClaims } from "../../core/token-claims.ts";
import type { Principal } from "../../core/turn.ts";
import type { ModelCredential } from "./models/model.ts";

/** The account that answers for a principal: the one it brought, else the one that its key is bound to. */
export async function credentialOf({ token, account }: Principal, access: AccessTokens): Promise<ModelCredential> {
  return token ? { id: digest(token.reveal()), token } : named(await access.get(account));
}

/** The backend has refused a credential: another of the same account, or undefined if there is none. */
export async function renewedCredential(
  { token, account }: Principal,
  access: AccessTokens,
  refused: ModelCredential,
): Promise<ModelCredential | undefined> {
  // What a caller brought is the caller's to renew.
  const renewed = token ? undefined : await access.renew(account, refused.token);
  return renewed && named(renewed);
}

/** Does something in the name of an account, and once more with a new token if the backend refuses this one. */
export async function withCredential<T>(
  principal: Principal,
  access: AccessTokens,
  act: (credential: ModelCredential) => Promise<T>,
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

const named = ({ account, token }: AccessToken): ModelCredential => ({ id: account, token });

/**
 * Whose conversations these are: the account, which stays the same when its token is renewed. It is what the token
 * says of itself, unproven, so it counts only beside the principal, who has proved something.
 */
export function createOwners(): (principal: Principal, credential: ModelCredential) => string {
  const accounts = new WeakMap<Secret, string>();
  return ({ id }, { token }) => {
    const account = accounts.get(token) ?? digest(readClaims(token.reveal()).subject ?? token.reveal());
    accounts.set(token, account);
    return `${id} ${account}`;
  };
}

const digest = (text: string): string => hash("sha256", text, "base64url");
