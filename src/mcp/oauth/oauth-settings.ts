import { z } from "zod";
import { Secret } from "../../core/secret.ts";

/** The OAuth settings for an MCP server. All are optional. */
export interface OAuthSettings {
  /** A user signs in, or this program by itself. */
  readonly grant: "authorization_code" | "client_credentials";
  /** Of a client registered by hand. Absent: we register dynamically. */
  readonly clientId: string | undefined;
  readonly clientSecret: Secret | undefined;
  /** Signs assertions, instead of a secret. */
  readonly privateKey: Secret | undefined;
  readonly algorithm: string;
  /** The public URL of our client metadata, for authorization servers that support it. */
  readonly clientMetadataUrl: string | undefined;
  readonly scope: string | undefined;
  /** The only authorization server that may receive the client's secret. */
  readonly issuer: string | undefined;
  /** The port of the redirect URL, if the registration fixes it. */
  readonly callbackPort: number | undefined;
}

const httpsUrl = z.url({ protocol: /^https$/ });
const scopes = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat().join(" "));

const ownForm = z.strictObject({
  grant: z.enum(["authorization_code", "client_credentials"]).default("authorization_code"),
  clientId: z.string().min(1).optional(),
  clientSecret: z.string().min(1).optional(),
  privateKey: z.string().min(1).optional(),
  algorithm: z.string().min(1).default("RS256"),
  clientMetadataUrl: httpsUrl.optional(),
  scope: scopes.optional(),
  issuer: z.url({ protocol: /^https?$/ }).optional(),
  callbackPort: z.int().min(1).max(65_535).optional(),
});

/** The format of Cursor's own file. */
const cursorForm = z.looseObject({
  CLIENT_ID: z.string().min(1),
  CLIENT_SECRET: z.string().min(1).optional(),
  scopes: scopes.optional(),
});

/** `oauth` of an entry in `mcp.json`, or Cursor's `auth`. `false` disables sign-in. */
export const oauthFields = { oauth: z.union([z.literal(false), ownForm]).optional(), auth: cursorForm.optional() };

interface OAuthFields {
  readonly oauth?: false | z.output<typeof ownForm> | undefined;
  readonly auth?: z.output<typeof cursorForm> | undefined;
}

/**
 * Returns the settings, or undefined if sign-in is disabled. Returns a field and a message if the settings are invalid.
 */
export function readOAuth({ oauth, auth }: OAuthFields): OAuthSettings | undefined | readonly [string, string] {
  if (oauth === false) return undefined;
  const form = oauth ?? ownForm.parse(auth ? fromCursor(auth) : {});
  if (form.grant === "client_credentials") {
    if (form.clientId === undefined) return [".oauth.clientId", "required with client_credentials."];
    if ((form.clientSecret === undefined) === (form.privateKey === undefined)) {
      return [".oauth", "expected either clientSecret or privateKey, for client_credentials."];
    }
  } else if (form.privateKey !== undefined) return [".oauth.privateKey", "only allowed with client_credentials."];
  if (form.clientSecret !== undefined && form.clientId === undefined) {
    return [".oauth.clientId", "required with clientSecret."];
  }
  return {
    grant: form.grant,
    clientId: form.clientId,
    clientSecret: secretOf(form.clientSecret),
    privateKey: secretOf(form.privateKey),
    algorithm: form.algorithm,
    clientMetadataUrl: form.clientMetadataUrl,
    scope: form.scope,
    issuer: form.issuer,
    callbackPort: form.callbackPort,
  };
}

const fromCursor = ({ CLIENT_ID, CLIENT_SECRET, scopes: scope }: z.output<typeof cursorForm>) => ({
  clientId: CLIENT_ID,
  ...(CLIENT_SECRET !== undefined && { clientSecret: CLIENT_SECRET }),
  ...(scope !== undefined && { scope }),
});

const secretOf = (text: string | undefined): Secret | undefined => (text === undefined ? undefined : new Secret(text));
