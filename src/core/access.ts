import type { Secret } from "./secret.ts";

/** A token of an account, fit to be sent. */
export interface AccessToken {
  /** Whose it is: the same through every renewal, another for another account. Safe to log. */
  readonly account: string;
  readonly token: Secret;
}

/** Where a driver gets the tokens of the accounts that this machine is signed in to. */
export interface AccessTokens {
  /**
   * A token that is good by all that can be known here; it may have been renewed first. The account has the name that
   * the caller's key is bound to; undefined is the gateway's own. Rejects if nobody is signed in.
   */
  get(account: string | undefined): Promise<AccessToken>;
  /** The backend has refused this one: another, or undefined if there is no better. Rejects if the login is over. */
  renew(account: string | undefined, refused: Secret): Promise<AccessToken | undefined>;
}
