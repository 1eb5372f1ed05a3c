import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { Secret } from "../../core/secret.ts";

/** A sign-in at an MCP server, in the SDK's types. Contains secrets; see {@link formatLogin}. */
export interface ServerLogin {
  readonly client?: StoredOAuthClientInformation | undefined;
  readonly tokens?: StoredOAuthTokens | undefined;
  /** The authorization server found at the sign-in, so that a renewal goes nowhere else. */
  readonly discovery?: OAuthDiscoveryState | undefined;
  /** A scope that a refused call needed. The next sign-in asks for it. */
  readonly wantedScope?: string | undefined;
}

export const formatLogin = (login: ServerLogin): Secret => new Secret(JSON.stringify(login));

/** Parses a stored login. Returns an empty one if it is damaged. */
export function parseLogin(text: Secret | undefined): ServerLogin {
  try {
    const login: unknown = JSON.parse(text?.reveal() ?? "{}");
    return typeof login === "object" && login !== null ? login : {};
  } catch {
    return {};
  }
}

export const secretsOf = ({ client, tokens }: ServerLogin): readonly Secret[] =>
  [client?.client_secret, tokens?.access_token, tokens?.refresh_token].flatMap((value) =>
    typeof value === "string" ? [new Secret(value)] : [],
  );
