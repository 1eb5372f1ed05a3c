import type { Secret } from "../secret.ts";

/** An access token of an account. */
export interface AccessToken {
  /** Identifies the account; it stays the same when the token is renewed. Safe to log. */
  readonly account: string;
  readonly token: Secret;
}

/** Gives drivers the tokens of the accounts that this machine is signed in to. */
export interface AccessTokens {
  /**
   * Returns a token that has not expired, renewed if necessary. `account` is the name that the caller's key is bound to;
   * undefined is the gateway's default account. Rejects if the account is not signed in.
   */
  get(account: string | undefined): Promise<AccessToken>;
  /**
   * Called when the upstream has refused a token. Returns another one, or undefined if there is none. Rejects if the account
   * has to sign in again.
   */
  renew(account: string | undefined, refused: Secret): Promise<AccessToken | undefined>;
}
