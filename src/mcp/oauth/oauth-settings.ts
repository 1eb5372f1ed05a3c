import { z } from "zod";
import { Secret } from "../../core/secret.ts";

/** How we show up at the authorization server of an MCP server. All of it may be left to the two of them. */
export interface OAuthSettings {
  /** A person signs in, or this program by itself. */
  readonly grant: "authorization_code" | "client_credentials";
  /** As we were registered there by hand; without it we register ourselves. */
  readonly clientId: string | undefined;
  readonly clientSecret: Secret | undefined;
  /** Instead of a secret: what this program signs with. */
  readonly privateKey: Secret | undefined;
  readonly algorithm: string;
  /** Where the world can read who we are, for authorization servers that look there. */
  readonly clientMetadataUrl: string | undefined;
  readonly scope: string | undefined;
  /** The only authorization server that may have the client's secret. */
  readonly issuer: string | undefined;
  /** Where the browser comes back to, if the registration knows one port only. */
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

/** As Cursor's own file has it. */
const cursorForm = z.looseObject({
  CLIENT_ID: z.string().min(1),
  CLIENT_SECRET: z.string().min(1).optional(),
  scopes: scopes.optional(),
});

/** `oauth` of an entry in `mcp.json`, or Cursor's `auth`; `false` wants none of it. */
export const oauthFields = { oauth: z.union([z.literal(false), ownForm]).optional(), auth: cursorForm.optional() };

interface OAuthFields {
  readonly oauth?: false | z.output<typeof ownForm> | undefined;
  readonly auth?: z.output<typeof cursorForm> | undefined;
}

/** Undefined: nobody signs in there. Gives a field and what is wrong with it, if the settings cannot work. */
export function readOAuth({ oauth, auth }: OAuthFields): OAuthSettings | undefined | readonly [string, string] {
  if (oauth === false) return undefined;
  const form = oauth ?? ownForm.parse(auth ? fromCursor(auth) : {});
  if (form.grant === "client_credentials") {
    if (form.clientId === undefined) return [".oauth.clientId", "expected one, for client_credentials."];
    if ((form.clientSecret === undefined) === (form.privateKey === undefined)) {
      return [".oauth", "expected either clientSecret or privateKey, for client_credentials."];
    }
  } else if (form.privateKey !== undefined) return [".oauth.privateKey", "expected only with client_credentials."];
  if (form.clientSecret !== undefined && form.clientId === undefined) {
    return [".oauth.clientId", "expected one, since there is a clientSecret."];
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
