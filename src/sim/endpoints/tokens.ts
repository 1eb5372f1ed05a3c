import { type Account, accountOf, authenticate, issueTokens } from "../accounts.ts";
import type { Routes } from "../backend.ts";
import { ConnectFailure } from "../connect-failure.ts";
import { identityOf } from "./identity.ts";
import { readStrings } from "./json-body.ts";

/** New access tokens for what lives longer: a refresh token or a user API key. Neither is used up by it. */
export const tokenRoutes: Routes = {
  "POST /auth/exchange_user_api_key": async (exchange, backend) => {
    const { authId } = identityOf(authenticate(exchange));
    await readStrings(exchange);
    exchange.respondJson(200, { ...issueTokens(authId, backend.options.tokenTtlS), authId });
  },
  "POST /oauth/token": async (exchange, backend) => {
    const body = await readStrings(exchange);
    if (body.get("grant_type") !== "refresh_token") {
      exchange.respondJson(400, { error: "unsupported_grant_type" });
      return;
    }
    const account = liveAccount(body.get("refresh_token") ?? "");
    if (!account) {
      exchange.respondJson(200, { access_token: "", id_token: "", shouldLogout: true });
      return;
    }
    const { accessToken } = issueTokens(identityOf(account).authId, backend.options.tokenTtlS);
    exchange.respondJson(200, { access_token: accessToken, id_token: accessToken, shouldLogout: false });
  },
};

/** A dead refresh token is an answer here, not a failure. */
function liveAccount(token: string): Account | undefined {
  try {
    return accountOf(token);
  } catch (error) {
    if (error instanceof ConnectFailure) return undefined;
    throw error;
  }
}
