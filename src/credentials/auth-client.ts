import { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { requestJson } from "../wire/connect/unary.ts";
import type { HttpTransport } from "../wire/http/http.ts";
import { type Login, secretOf } from "./login.ts";

export interface AuthClient {
  /**
   * Exchanges a refresh token or a user's API key for new tokens. Throws `unauthenticated` if it is no longer accepted.
   */
  exchange(secret: Secret, signal?: AbortSignal): Promise<TokenPair>;
  /** Returns the tokens of a browser login; undefined until it is approved. */
  poll(uuid: string, verifier: Secret, signal?: AbortSignal): Promise<TokenPair | undefined>;
}

export interface TokenPair {
  readonly access: Secret;
  /** Undefined: the refresh token that was sent stays valid. */
  readonly refresh: Secret | undefined;
}

export interface AuthClientOptions {
  readonly transport: HttpTransport;
  readonly origin: string;
}

/** Short, because other requests may wait for the same tokens. */
const TIMEOUT_MS = 20_000;

export function createAuthClient({ transport, origin }: AuthClientOptions): AuthClient {
  const call = (path: string, body: object, headers: Readonly<Record<string, string>>, signal?: AbortSignal) =>
    requestJson({ transport, origin, path, body, headers, timeoutMs: TIMEOUT_MS, ...(signal && { signal }) });
  return {
    async exchange(secret, signal) {
      const headers = { authorization: `Bearer ${headerValue(secret)}` };
      return pairOf(await call("/auth/exchange_user_api_key", {}, headers, signal));
    },
    async poll(uuid, verifier, signal) {
      try {
        return pairOf(await call("/auth/poll", { uuid, verifier: verifier.reveal() }, {}, signal));
      } catch (error) {
        if (ExcursorError.from(error).context["status"] === 404) return undefined;
        throw error;
      }
    },
  };
}

/** Renews a login with its refresh token, or with its API key if the refresh token is not accepted. */
export async function renewLogin(auth: AuthClient, { refresh, apiKey }: Login): Promise<Login> {
  const exchange = async (secret: Secret): Promise<Login> => {
    const pair = await auth.exchange(secret);
    return { access: pair.access, refresh: pair.refresh ?? refresh, apiKey };
  };
  if (!refresh && !apiKey)
    throw new ExcursorError("unauthenticated", "This login has no refresh token, so it cannot be renewed.");
  if (!refresh) return exchange(apiKey as Secret);
  try {
    return await exchange(refresh);
  } catch (error) {
    if (!apiKey || ExcursorError.from(error).kind !== "unauthenticated") throw error;
    return exchange(apiKey);
  }
}

/** Checked here because Node's own error has the secret in its message. */
function headerValue(secret: Secret): string {
  const value = secret.reveal();
  if (/^[\x21-\x7e]+$/.test(value)) return value;
  throw new ExcursorError("bad_token");
}

function pairOf(answer: unknown): TokenPair {
  const { accessToken, refreshToken } = (answer ?? {}) as {
    readonly accessToken?: unknown;
    readonly refreshToken?: unknown;
  };
  const access = secretOf(accessToken);
  if (access) return { access, refresh: secretOf(refreshToken) };
  throw new ExcursorError("no_token");
}
