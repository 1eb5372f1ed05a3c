import {
  auth,
  ClientCredentialsProvider,
  computeScopeUnion,
  type OAuthClientProvider,
  PrivateKeyJwtProvider,
} from "@modelcontextprotocol/client";
import { Secret } from "../../core/secret.ts";
import type { HttpServer } from "../servers/server-config.ts";
import type { Authorization } from "./authorization.ts";
import { loginFailed } from "./errors.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import type { OAuthSettings } from "./oauth-settings.ts";

/**
 * Signs this program in by itself (`client_credentials`). Tokens are not stored, because another is one request away.
 */
export function createClientAuthorization(
  { name, url }: HttpServer,
  settings: OAuthSettings,
  onSecret: ((secret: Secret) => void) | undefined,
): Authorization {
  const provider = createProvider(settings);
  const fetchFn = createGuardedFetch(name, url);
  const token = async () => (await provider.tokens())?.access_token;
  let renewal: Promise<boolean> | undefined;
  return {
    token,
    async renew({ scope, resourceMetadataUrl }, refused, isAgain) {
      if (isAgain) return false;
      const current = await token();
      if (current !== undefined && current !== refused) return true;
      const renew = async () => {
        try {
          const wanted = computeScopeUnion(settings.scope, (await provider.tokens())?.scope, scope);
          const result = await auth(provider, {
            serverUrl: url,
            fetchFn,
            ...(wanted !== undefined && { scope: wanted }),
            ...(resourceMetadataUrl && { resourceMetadataUrl }),
          });
          onSecret?.(new Secret((await token()) ?? ""));
          return result === "AUTHORIZED";
        } catch (error) {
          throw loginFailed(name, error);
        }
      };
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
      return renewal;
    },
  };
}

function createProvider(settings: OAuthSettings): OAuthClientProvider {
  const { clientId = "", clientSecret, privateKey, algorithm, scope, issuer } = settings;
  const shared = {
    clientId,
    clientName: "Excursor",
    ...(scope !== undefined && { scope }),
    ...(issuer !== undefined && { expectedIssuer: issuer }),
  };
  if (privateKey) return new PrivateKeyJwtProvider({ ...shared, privateKey: privateKey.reveal(), algorithm });
  return new ClientCredentialsProvider({ ...shared, clientSecret: clientSecret?.reveal() ?? "" });
}
