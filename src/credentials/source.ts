import type { Login } from "./login.ts";

/** A place where a login may be. Each has a file in `sources/`; `app/accounts/open-accounts.ts` has their order. */
export interface CredentialSource {
  readonly id: "environment" | "store" | "cursor-cli" | "macos-keychain" | "cursor-ide" | "request";
  /** Where it looks, as text for the user. */
  readonly place: string;
  /** Returns undefined if it has nothing. Throws a one-sentence error that says what is wrong and where. */
  find(): Promise<FoundLogin | undefined>;
}

export interface FoundLogin {
  readonly login: Login;
  /** The name of the account, if it is from our store. */
  readonly account?: string;
  /**
   * Belongs to another program, which renews it. We never renew it: the backend may then revoke the old tokens and sign
   * that program out.
   */
  readonly isForeign: boolean;
  /** Where a bare token was configured, as text for the user. Only the user can replace it. */
  readonly given?: string;
}
