import { createHash } from "node:crypto";
import { issueTokens, subjectFor } from "../accounts.ts";
import type { Backend, Routes } from "../backend.ts";
import { ConnectFailure } from "../connect-failure.ts";
import type { Exchange } from "../exchange.ts";
import { readStrings } from "./json-body.ts";
import { respondLoginPage } from "./login-page.ts";

const MAX_LOGINS = 1000;

/** Whoever logs in through the browser is this one person. */
const WEBSITE_USER = "simulated";

/**
 * The browser login: the website approves a challenge, and the client that knows its verifier fetches the tokens.
 * The website of this backend has its user signed in already, so that opening the page is all there is to do.
 */
export const loginRoutes: Routes = {
  "GET /loginDeepControl": (exchange, backend) => {
    const { query } = exchange;
    const isApproved = approve(backend, query.get("uuid"), query.get("challenge"));
    respondLoginPage(exchange, isApproved, query.get("redirectTarget") ?? "");
  },
  "POST /api/auth/loginDeepCallbackControl": async (exchange, backend) => {
    const body = await readStrings(exchange);
    if (!approve(backend, body.get("uuid"), body.get("challenge"))) {
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

/** False for what no client would have made up. */
function approve({ logins }: Backend, uuid?: string | null, challenge?: string | null): boolean {
  if (!uuid || uuid.length > 100 || !challenge || !/^[\w-]{43}$/.test(challenge)) return false;
  logins.delete(uuid);
  const [oldest] = logins.keys();
  if (logins.size >= MAX_LOGINS && oldest !== undefined) logins.delete(oldest);
  logins.set(uuid, { challenge });
  return true;
}

/** Once. A wrong verifier learns no more than one who came too early. */
function handOut(exchange: Exchange, { logins, options }: Backend, uuid: string, verifier: string): void {
  if (logins.get(uuid)?.challenge !== challengeOf(verifier)) {
    // These very words: clients take any other 404 for a backend without this route.
    exchange.respond(404, "Not found", { "content-type": "text/plain" });
    return;
  }
  logins.delete(uuid);
  const authId = subjectFor(WEBSITE_USER);
  exchange.respondJson(200, { ...issueTokens(authId, options.tokenTtlS), authId });
}

const challengeOf = (verifier: string): string => createHash("sha256").update(verifier).digest("base64url");
