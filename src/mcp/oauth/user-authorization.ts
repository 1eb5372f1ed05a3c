import {
  auth,
  computeScopeUnion,
  type FetchLike,
  OAuthClientFlowError,
  OAuthError,
} from "@modelcontextprotocol/client";
import { ExcursorError } from "../../core/errors.ts";
import type { HttpServer } from "../server-config.ts";
import type { Authorization, AuthorizationOptions, Consent } from "./authorization.ts";
import { loginFailed } from "./errors.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { LoginProvider } from "./login-provider.ts";
import type { OAuthSettings } from "./oauth-settings.ts";
import type { AccessRefusal } from "./refusal.ts";
import { formatLogin, parseLogin, type ServerLogin, secretsOf } from "./server-login.ts";

/**
 * A person has signed in, or will. Tokens are renewed by themselves, by one process at a time, for a refresh token that
 * is used twice can cost the whole sign-in (REL-36, REL-37). Only with somebody to ask a page is opened.
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

  /** Without a person. False: it takes one. */
  const refresh = (refused: string | undefined): Promise<boolean> =>
    logins.lock.run(async () => {
      const login = await load();
      if (hasOther(login, refused)) return true;
      if (login.tokens?.refresh_token === undefined) return false;
      const provider = new LoginProvider({ settings, login, redirectUrl: undefined });
      const { fetchFn, trouble } = noticeTrouble(guardedFetch);
      try {
        const isRenewed = (await auth(provider, { serverUrl: url, fetchFn })) === "AUTHORIZED";
        // The SDK asks for a page, too, where the authorization server only was not to be reached.
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
    // The server may have moved to another authorization server meanwhile: what is known of the old one stays there.
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
      // A renewal never grants more (RFC 6749 §6): who signs in next is asked for it.
      if (isScope && scope !== wantedScope) {
        await logins.lock.run(async () => keep({ ...(await load()), wantedScope: scope }));
      }
      return false;
    },
  };
}

const hasOther = ({ tokens }: ServerLogin, refused: string | undefined): boolean =>
  tokens !== undefined && tokens.access_token !== refused;

/** Where a person is sent: a page of the web, or of this machine if the server is here, too (SEC-43). */
function checkedPage(page: URL, { name, url: server }: Pick<HttpServer, "name" | "url">): URL {
  const isHere = (url: URL) => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (page.protocol === "https:" || (page.protocol === "http:" && isHere(page) && isHere(server))) return page;
  throw new ExcursorError(
    "forbidden",
    `The MCP server "${name}" sends you to sign in at an address that is not https.`,
    {
      code: "mcp_oauth_address_refused",
      hint: null,
    },
  );
}

/** What went wrong on the way to the authorization server, or inside it. */
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
