import { readCursorToken } from "../config/cursor-token.ts";
import { ExcursorError } from "../core/errors.ts";
import { Secret } from "../core/secret.ts";
import { requestJson } from "../wire/connect/unary.ts";
import type { HttpTransport } from "../wire/http/http.ts";
import type { AuthClient } from "./auth-client.ts";
import { beginLogin } from "./browser-login.ts";
import type { Login } from "./login.ts";

export interface CookieLoginOptions {
  readonly transport: HttpTransport;
  readonly auth: AuthClient;
  readonly website: string;
}

const COOKIE = "WorkosCursorSessionToken";

/**
 * Signs in with the website's session cookie (`user::jwt`, or with `%3A%3A`). The session approves a login of ours, as
 * a person in the browser would. If the website refuses, the token in the cookie is used; it cannot be renewed.
 */
export async function loginByCookie(cookie: Secret, { transport, auth, website }: CookieLoginOptions): Promise<Login> {
  const given = cookie
    .reveal()
    .trim()
    .replace(new RegExp(`^${COOKIE}=`), "")
    .replace(/;.*$/s, "");
  const token = readCursorToken(given);
  if (token === undefined) throw notACookie();
  const { uuid, challenge, verifier } = beginLogin(website);
  try {
    await requestJson({
      transport,
      origin: website,
      path: "/api/auth/loginDeepCallbackControl",
      body: { uuid, challenge },
      headers: { cookie: `${COOKIE}=${encodeURIComponent(decodeURIComponent(given))}` },
    });
    const pair = await auth.poll(uuid, verifier);
    if (pair) return { ...pair, apiKey: undefined };
  } catch (error) {
    if (ExcursorError.from(error).retryable) throw error;
  }
  return { access: new Secret(token), refresh: undefined, apiKey: undefined };
}

const notACookie = (): ExcursorError =>
  new ExcursorError("bad_cookie", [], {
    hint: `Copy the whole value of the cookie ${COOKIE}. It looks like user_…::eyJ… or user_…%3A%3AeyJ….`,
  });
