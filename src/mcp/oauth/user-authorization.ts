import {
  auth,
  computeScopeUnion,
  type FetchLike,
  OAuthClientFlowError,
  OAuthError,
} from "@modelcontextprotocol/client";
import { ExcursorError } from "../../core/errors.ts";
import { type HttpServer, isLoopback } from "../servers/server-config.ts";
import type { Authorization, AuthorizationOptions, Consent } from "./authorization.ts";
import { loginFailed } from "./errors.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { LoginProvider } from "./login-provider.ts";
import type { OAuthSettings } from "./oauth-settings.ts";
import type { AccessRefusal } from "./refusal.ts";
import { formatLogin, parseLogin, type ServerLogin, secretsOf } from "./server-login.ts";

/**
 * Authorization by a user's sign-in. Renews tokens automatically, in one process at a time: a refresh token that is
 * used twice can invalidate the whole sign-in (REL-36, REL-37). Opens a page only if there is a `consent`.
 */
export function createUserAuthorization(
  { name, url }: HttpServer,
  settings: OAuthSettings,
  { logins, consent, onSecret }: AuthorizationOptions,
): Authorization {
  const guardedFetch = createGuardedFetch(name, url);
  let known: { readonly stamp: string; readonly login: ServerLogin } | undefined;
  let asking: Promise<boolean> | undefined;

  const load = async (): Promise<ServerLogin> => {
    const stamp = logins.stamp();
    if (known?.stamp === stamp) return known.login;
    const login = parseLogin(await logins.read(name, url.href));
    for (const secret of secretsOf(login)) onSecret?.(secret);
    known = { stamp, login };
    return login;
  };
  const keep = async (login: ServerLogin): Promise<void> => {
    for (const secret of secretsOf(login)) onSecret?.(secret);
    await logins.write(name, url.href, formatLogin(login));
  };

  /** Renews without the user. Returns false if the user has to sign in. */
  const refresh = (refused: string | undefined): Promise<boolean> =>
    logins.lock.run(async () => {
      const login = await load();
      if (hasOther(login, refused)) return true;
      if (login.tokens?.refresh_token === undefined) return false;
      const provider = new LoginProvider({ settings, login, redirectUrl: undefined });
      const { fetchFn, trouble } = noticeTrouble(guardedFetch);
      try {
        const isRenewed = (await auth(provider, { serverUrl: url, fetchFn })) === "AUTHORIZED";
        // The SDK also asks for a page if the authorization server merely cannot be reached.
        if (!isRenewed && trouble()) throw loginFailed(name, trouble());
        await keep(provider.login);
        return isRenewed;
      } catch (error) {
        if (trouble()) throw loginFailed(name, trouble());
        if (error instanceof ExcursorError) throw error;
        if (!OAuthError.isInstance(error) && !OAuthClientFlowError.isInstance(error) && provider.login.tokens) {
          throw loginFailed(name, error);
        }
        await keep(provider.login);
        return false;
      }
    });

  const ask = async (person: Consent, { resourceMetadataUrl }: AccessRefusal, scope: string | undefined) => {
    // Drops the discovery: the server may use another authorization server now.
    const login = { ...(await load()), discovery: undefined };
    const provider = new LoginProvider({ settings, login, redirectUrl: person.redirectUrl });
    const options = {
      serverUrl: url,
      fetchFn: guardedFetch,
      ...(scope !== undefined && { scope }),
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
    };
    try {
      const result = await auth(provider, { ...options, forceReauthorization: true });
      if (result === "REDIRECT" && provider.page) {
        const { code, iss } = await person.ask(checkedPage(provider.page, { name, url }), provider.expectedState);
        await auth(provider, { ...options, authorizationCode: code, ...(iss !== undefined && { iss }) });
      }
      await keep(provider.login);
      return provider.login.tokens !== undefined;
    } catch (error) {
      throw loginFailed(name, error);
    }
  };

  return {
    token: async () => (await load()).tokens?.access_token,
    async renew(refusal, refused, isAgain) {
      const login = await load();
      if (hasOther(login, refused)) return true;
      const { tokens, wantedScope } = login;
      const isScope = refusal.type === "scope";
      const asked = isScope ? [settings.scope, refusal.scope] : [settings.scope ?? refusal.scope];
      const scope = computeScopeUnion(...asked, tokens?.scope, wantedScope);
      if (!isScope && !isAgain && tokens?.refresh_token !== undefined && (await refresh(refused))) return true;
      if (consent) {
        asking ??= ask(consent, refusal, scope).finally(() => {
          asking = undefined;
        });
        return asking;
      }
      // A renewal never widens the scope (RFC 6749 §6), so the next sign-in asks for it.
      if (isScope && scope !== wantedScope) {
        await logins.lock.run(async () => keep({ ...(await load()), wantedScope: scope }));
      }
      return false;
    },
  };
}

const hasOther = ({ tokens }: ServerLogin, refused: string | undefined): boolean =>
  tokens !== undefined && tokens.access_token !== refused;

/** Checks the sign-in page: https, or http on this machine if the server is on it, too (SEC-43). */
function checkedPage(page: URL, { name, url: server }: Pick<HttpServer, "name" | "url">): URL {
  const isHere = (url: URL) => isLoopback(url.hostname);
  if (page.protocol === "https:" || (page.protocol === "http:" && isHere(page) && isHere(server))) return page;
  throw new ExcursorError(
    "mcp_oauth_address_refused",
    `The MCP server "${name}" names a sign-in URL that is not https.`,
    { hint: null },
  );
}

/** Remembers network failures and server errors of the authorization server. */
function noticeTrouble(base: FetchLike) {
  let seen: unknown;
  const fetchFn: FetchLike = async (url, init) => {
    try {
      const response = await base(url, init);
      if (response.status >= 500) seen = new Error(`it answered with ${response.status}.`);
      return response;
    } catch (error) {
      seen = error;
      throw error;
    }
  };
  return { fetchFn, trouble: () => seen };
}
