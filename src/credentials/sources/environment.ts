import { readCursorToken } from "../../config/cursor-token.ts";
import { Secret } from "../../core/secret.ts";
import { type Login, secretOf } from "../login.ts";
import type { CredentialSource } from "../source.ts";

export interface EnvironmentOptions {
  /** The setting `token`, from a flag, a variable or a file. */
  readonly token: Secret | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Reads `EXCURSOR_TOKEN`, or the variables of Cursor's own programs: `CURSOR_AUTH_TOKEN`, `CURSOR_API_KEY`. */
export function createEnvironmentSource({ token, environment }: EnvironmentOptions): CredentialSource {
  const { CURSOR_AUTH_TOKEN, CURSOR_API_KEY } = environment;
  const access = token ?? secretOf(CURSOR_AUTH_TOKEN);
  const apiKey = access ? undefined : secretOf(CURSOR_API_KEY);
  const place = token ? "the setting token" : access ? "CURSOR_AUTH_TOKEN" : "CURSOR_API_KEY";
  return {
    id: "environment",
    place: access || apiKey ? place : "EXCURSOR_TOKEN, CURSOR_AUTH_TOKEN, CURSOR_API_KEY",
    find: async () =>
      access || apiKey
        ? { login: loginOf(access, apiKey), isForeign: false, ...(access && { given: token ? SETTING : place }) }
        : undefined,
  };
}

const SETTING = "EXCURSOR_TOKEN (or the setting token)";

/** The token may have the user's id as a prefix, as in the cookie of the web session. */
const loginOf = (access: Secret | undefined, apiKey: Secret | undefined): Login => ({
  access: access && new Secret(readCursorToken(access.reveal()) ?? access.reveal()),
  refresh: undefined,
  apiKey,
});
