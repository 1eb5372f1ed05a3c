import { selectClientAuthMethod } from "@modelcontextprotocol/client";
import type { Secret } from "../../core/secret.ts";
import type { HttpServer } from "../servers/server-config.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { LoginProvider } from "./login-provider.ts";
import { parseLogin } from "./server-login.ts";

/**
 * Revokes a sign-in at the authorization server (RFC 7009), if it supports that. Returns false if it refused: the
 * tokens then stay valid until they expire.
 */
export async function revokeLogin({ name, url, oauth }: HttpServer, kept: Secret): Promise<boolean> {
  const login = parseLogin(kept);
  const { tokens, discovery } = login;
  const {
    revocation_endpoint: endpoint,
    revocation_endpoint_auth_methods_supported: methods,
    issuer,
  } = (discovery?.authorizationServerMetadata ?? {}) as Readonly<Record<string, unknown>>;
  // Revoking the refresh token also revokes the access token.
  const token = tokens?.refresh_token ?? tokens?.access_token;
  if (typeof endpoint !== "string" || token === undefined) return true;
  // If an issuer is configured, no other server receives the secret.
  if (oauth?.issuer !== undefined && oauth.issuer !== issuer) return false;
  const client = oauth
    ? new LoginProvider({ settings: oauth, login, redirectUrl: undefined }).clientInformation()
    : login.client;
  const body = new URLSearchParams({
    token,
    token_type_hint: tokens?.refresh_token === undefined ? "access_token" : "refresh_token",
  });
  const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
  if (client) {
    const { client_id: id, client_secret: secret = "" } = client;
    const method = selectClientAuthMethod(client, Array.isArray(methods) ? methods.map(String) : []);
    if (method === "client_secret_basic") headers.set("authorization", `Basic ${btoa(`${id}:${secret}`)}`);
    else body.set("client_id", id);
    if (method === "client_secret_post") body.set("client_secret", secret);
  }
  try {
    return (await createGuardedFetch(name, url)(endpoint, { method: "POST", headers, body })).ok;
  } catch {
    return false;
  }
}
