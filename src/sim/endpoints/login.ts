import { createHash } from "node:crypto";
import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { issueTokens, subjectFor } from "../accounts.ts";
import type { Backend, Routes } from "../backend.ts";
import type { SimExchange } from "../sim-exchange.ts";
import { identityOf } from "./identity.ts";
import { readStrings } from "./json-body.ts";
import { respondLoginPage } from "./login-page.ts";
import { authenticateCookie, hasSessionCookie } from "./session-cookie.ts";

/** The user who signs in through the browser without a session cookie. */
const WEBSITE_USER = "simulated";

/**
 * The browser login: the website approves a challenge, and the client that has the verifier fetches the tokens. The
 * website's user is already signed in, so that opening the page approves the login.
 */
export const loginRoutes: Routes = {
  "GET /loginDeepControl": (exchange, backend) => {
    const { query } = exchange;
    const isApproved = approve(backend, query.get("uuid"), query.get("challenge"), subjectFor(WEBSITE_USER));
    respondLoginPage(exchange, isApproved, query.get("redirectTarget") ?? "");
  },
  "POST /api/auth/loginDeepCallbackControl": async (exchange, backend) => {
    const body = await readStrings(exchange);
    const authId = hasSessionCookie(exchange)
      ? identityOf(authenticateCookie(exchange)).authId
      : subjectFor(WEBSITE_USER);
    if (!approve(backend, body.get("uuid"), body.get("challenge"), authId)) {
      throw new ConnectFailure("invalid_argument", "A login needs a uuid and the challenge made from its verifier.");
    }
    exchange.respondJson(200, {});
  },
  "GET /auth/poll": (exchange, backend) => {
    const { query } = exchange;
    handOut(exchange, backend, query.get("uuid") ?? "", query.get("verifier") ?? "");
  },
  "POST /auth/poll": async (exchange, backend) => {
    const body = await readStrings(exchange);
    handOut(exchange, backend, body.get("uuid") ?? "", body.get("verifier") ?? "");
  },
};

/** Stores an approved login. Returns false if uuid or challenge is malformed. */
function approve(
  { logins }: Backend,
  uuid: string | null | undefined,
  challenge: string | null | undefined,
  authId: string,
): boolean {
  if (!uuid || uuid.length > 100 || !challenge || !/^[\w-]{43}$/.test(challenge)) return false;
  logins.set(uuid, { challenge, authId });
  return true;
}

/** Sends the tokens, once. A wrong verifier gets the same response as a poll that is too early. */
function handOut(exchange: SimExchange, backend: Backend, uuid: string, verifier: string): void {
  const { logins, options } = backend;
  const waitS = tooSoon(backend, uuid);
  if (waitS > 0) {
    const failure = { code: "resource_exhausted", message: "Slow down." };
    exchange.respond(429, JSON.stringify(failure), {
      "content-type": "application/json",
      "retry-after": String(waitS),
    });
    return;
  }
  const login = logins.get(uuid);
  if (login?.challenge !== challengeOf(verifier)) {
    // The exact text matters: clients take any other 404 for a missing route.
    exchange.respond(404, "Not found", { "content-type": "text/plain" });
    return;
  }
  logins.delete(uuid);
  const { authId } = login;
  exchange.respondJson(200, { ...issueTokens(authId, options.tokenTtlS), authId });
}

/** Returns after how many seconds to poll again; 0 if this poll is not too early. */
function tooSoon({ polls, options }: Backend, uuid: string): number {
  const [now, last] = [performance.now(), polls.get(uuid)];
  polls.set(uuid, now);
  const waitMs = last === undefined ? 0 : last + options.pollIntervalMs - now;
  return waitMs > 0 ? Math.ceil(waitMs / 1000) : 0;
}

const challengeOf = (verifier: string): string => createHash("sha256").update(verifier).digest("base64url");
