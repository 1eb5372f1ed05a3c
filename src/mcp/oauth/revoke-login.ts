import { selectClientAuthMethod } from "@modelcontextprotocol/client";
import type { Secret } from "../../core/secret.ts";
import type { HttpServer } from "../server-config.ts";
import { createGuardedFetch } from "./guarded-fetch.ts";
import { LoginProvider } from "./login-provider.ts";
import { parseLogin } from "./server-login.ts";

/**
 * Tells the authorization server that a sign-in is over (RFC 7009), where it wants to know. False if it did not take it:
 * then the tokens live on there until they are too old.
 */
export async function revokeLogin({ name, url, oauth }: HttpServer, kept: Secret): Promise<boolean> {
  const login = parseLogin(kept);
  const { tokens, discovery } = login;
  const {
    revocation_endpoint: endpoint,
    revocation_endpoint_auth_methods_supported: methods,
    issuer,
  } = (discovery?.authorizationServerMetadata ?? {}) as Readonly<Record<string, unknown>>;
  // With the refresh token all that came of it is gone, too.
  const token = tokens?.refresh_token ?? tokens?.access_token;
  if (typeof endpoint !== "string" || token === undefined) return true;
  // The settings may say who gets the secret: nobody else does.
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
