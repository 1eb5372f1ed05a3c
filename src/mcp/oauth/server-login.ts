import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { Secret } from "../../core/secret.ts";

/** All that is known of a sign-in at an MCP server, in the SDK's own words. Never printed: see {@link formatLogin}. */
export interface ServerLogin {
  /** As what we were registered. */
  readonly client?: StoredOAuthClientInformation | undefined;
  readonly tokens?: StoredOAuthTokens | undefined;
  /** Where the authorization server is: what was found at the sign-in, so that a renewal goes nowhere else. */
  readonly discovery?: OAuthDiscoveryState | undefined;
  /** What a tool was refused for want of: the next sign-in asks for it. */
  readonly wantedScope?: string | undefined;
}

export const formatLogin = (login: ServerLogin): Secret => new Secret(JSON.stringify(login));

/** What was kept; nothing, if it makes no sense any more. */
export function parseLogin(text: Secret | undefined): ServerLogin {
  try {
    const login: unknown = JSON.parse(text?.reveal() ?? "{}");
    return typeof login === "object" && login !== null ? login : {};
  } catch {
    return {};
  }
}

/** What must not show in any text. */
export const secretsOf = ({ client, tokens }: ServerLogin): readonly Secret[] =>
  [client?.client_secret, tokens?.access_token, tokens?.refresh_token].flatMap((value) =>
    typeof value === "string" ? [new Secret(value)] : [],
  );
