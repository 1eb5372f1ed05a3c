import type { Secret } from "../../core/secret.ts";
import type { HttpServer } from "../server-config.ts";
import { createClientAuthorization } from "./client-authorization.ts";
import type { LoginStore } from "./login-store.ts";
import type { AccessRefusal } from "./refusal.ts";
import { createUserAuthorization } from "./user-authorization.ts";

/** What lets us into one server. */
export interface Authorization {
  /** To be sent with a request; undefined while nobody is signed in. */
  token(): Promise<string | undefined>;
  /**
   * After a request with that token was refused: gets another one, if it can. True: ask again. All who are refused at
   * once share what the first of them gets. `isAgain`: what the last renewal gave was refused, too.
   */
  renew(refusal: AccessRefusal, refused: string | undefined, isAgain: boolean): Promise<boolean>;
}

/** A person with a browser. */
export interface Consent {
  /** Where the browser comes back to. */
  readonly redirectUrl: string;
  /** Sends them to the page, and gives what they bring back. */
  ask(page: URL, state: string): Promise<{ readonly code: string; readonly iss?: string | undefined }>;
}

export interface AuthorizationOptions {
  readonly logins: LoginStore;
  /** Nobody is asked without it: what runs in the background never opens a browser. */
  readonly consent?: Consent | undefined;
  readonly onSecret?: ((secret: Secret) => void) | undefined;
}

/** Undefined where nobody signs in, or a header of the settings is what lets us in. */
export function createAuthorization(server: HttpServer, options: AuthorizationOptions): Authorization | undefined {
  const { oauth } = server;
  if (!oauth) return undefined;
  return oauth.grant === "client_credentials"
    ? createClientAuthorization(server, oauth, options.onSecret)
    : createUserAuthorization(server, oauth, options);
}
