import type { Login } from "./login.ts";

/** One place where a login may be. Each has a file in `sources/`; {@link file://./find-login.ts} has their order. */
export interface CredentialSource {
  readonly id: "environment" | "store" | "cursor-cli" | "macos-keychain" | "cursor-ide" | "request";
  /** Where it looks, in words for a person. */
  readonly place: string;
  /** Undefined if there is nothing. What is there and no good is thrown, as one sentence that says what and where. */
  find(): Promise<FoundLogin | undefined>;
}

export interface FoundLogin {
  readonly login: Login;
  /** The account of our store that it is. */
  readonly account?: string;
  /**
   * It belongs to another program, which renews it. We do not: the backend may let go of the old tokens then, and that
   * program would be signed out.
   */
  readonly isForeign: boolean;
  /** A token that somebody put there for itself: only they can change it. In words for a person. */
  readonly given?: string;
}
