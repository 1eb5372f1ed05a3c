import { ConnectFailure } from "../../wire/connect/connect-failure.ts";
import { type Account, accountOf, authenticate, issueTokens, readClaims, refused } from "../accounts.ts";
import type { Backend, Routes } from "../backend.ts";
import { identityOf } from "./identity.ts";
import { readStrings } from "./json-body.ts";

/** Issues access tokens for a refresh token or a user API key. Both stay valid, unless refresh tokens rotate. */
export const tokenRoutes: Routes = {
  "POST /auth/exchange_user_api_key": async (exchange, backend) => {
    const account = authenticate(exchange);
    const { authId } = identityOf(account);
    await readStrings(exchange);
    const { family } = readClaims(account.token) ?? {};
    const tokens = issueTokens(authId, backend.options.tokenTtlS, family);
    if (family !== undefined) rotate(backend, family, account.token, tokens.refreshToken);
    exchange.respondJson(200, { ...tokens, authId });
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

/** Replaces the valid token of a family. An older token may be stolen, so its use revokes the whole family. */
function rotate({ options, families }: Backend, family: string, given: string, next: string): void {
  if (options.refreshTokens !== "rotating") return;
  const isGood = (families.get(family) ?? given) === given;
  families.set(family, isGood ? next : "revoked");
  if (!isGood) throw refused();
}

/** Returns undefined for an invalid refresh token; the response is then not an error. */
function liveAccount(token: string): Account | undefined {
  try {
    return accountOf(token);
  } catch (error) {
    if (error instanceof ConnectFailure) return undefined;
    throw error;
  }
}
