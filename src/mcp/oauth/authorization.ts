import type { Secret } from "../../core/secret.ts";
import type { HttpServer } from "../servers/server-config.ts";
import { createClientAuthorization } from "./client-authorization.ts";
import type { LoginStore } from "./login-store.ts";
import type { AccessRefusal } from "./refusal.ts";
import { createUserAuthorization } from "./user-authorization.ts";

/** The access token for one server. */
export interface Authorization {
  /** Returns the token for a request; undefined if nobody is signed in. */
  token(): Promise<string | undefined>;
  /**
   * Gets another token after a request with `refused` was refused. Returns true if the request should be sent again.
   * Concurrent callers share the result. `isAgain`: the renewed token was refused, too.
   */
  renew(refusal: AccessRefusal, refused: string | undefined, isAgain: boolean): Promise<boolean>;
}

/** A user with a browser. */
export interface Consent {
  readonly redirectUrl: string;
  /** Opens the page, and returns what the browser brings back. */
  ask(page: URL, state: string): Promise<{ readonly code: string; readonly iss?: string | undefined }>;
}

export interface AuthorizationOptions {
  readonly logins: LoginStore;
  /** Absent: no browser is ever opened, as in the background. */
  readonly consent?: Consent | undefined;
  readonly onSecret?: ((secret: Secret) => void) | undefined;
}

/** Returns undefined if the server has no sign-in, or if a configured header authorizes us. */
export function createAuthorization(server: HttpServer, options: AuthorizationOptions): Authorization | undefined {
  const { oauth } = server;
  if (!oauth) return undefined;
  return oauth.grant === "client_credentials"
    ? createClientAuthorization(server, oauth, options.onSecret)
    : createUserAuthorization(server, oauth, options);
}
