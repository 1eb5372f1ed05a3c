import { unlessAborted } from "../core/abort-race.ts";
import { ExcursorError } from "../core/errors.ts";
import type { Secret } from "../core/secret.ts";
import { createWatchdog } from "../process/watchdog.ts";
import { ServerConnection } from "./connection/server-connection.ts";
import { HUB_LIMITS } from "./limits.ts";
import { type Authorization, createAuthorization } from "./oauth/authorization.ts";
import { createMemoryLogins, type LoginStore } from "./oauth/login-store.ts";
import { openLoopbackConsent } from "./oauth/loopback-consent.ts";
import { formatLogin, parseLogin } from "./oauth/server-login.ts";
import type { HttpServer, ServerConfig } from "./servers/server-config.ts";

/** Time for the user to find a password. */
const LOGIN_MS = 600_000;

export interface SignInOptions {
  readonly logins: LoginStore;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Shows the user the page to sign in on. `offer` takes the address that the page leads to, for browsers on another
   * machine. It returns false if the address does not belong to this sign-in.
   */
  readonly show: (page: URL, offer: (address: string) => boolean) => void;
  readonly signal: AbortSignal;
  readonly onSecret?: ((secret: Secret) => void) | undefined;
}

/**
 * Signs in to a server, checks that it accepts us, and stores the login. Returns the number of the server's tools. Changes
 * nothing if it fails, is aborted, or takes longer than ten minutes.
 */
export async function signInToServer(server: HttpServer, options: SignInOptions): Promise<number> {
  const { logins, environment, show } = options;
  const { name, url } = server;
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(LOGIN_MS)]);
  const before = parseLogin(await logins.read(name, url.href));
  // The sign-in works on a copy: the stored login stays, unused, until the new one is complete.
  const draft = createMemoryLogins();
  await draft.write(name, url.href, formatLogin({ wantedScope: before.wantedScope }));
  const consent = await openLoopbackConsent({
    port: server.oauth?.callbackPort ?? 0,
    show: (page) => show(page, consent.offer),
    signal,
  });
  const authorization = createAuthorization(server, { logins: draft, consent, onSecret: options.onSecret });
  const connection = new ServerConnection({
    server,
    environment,
    watchdog: createWatchdog(),
    limits: { ...HUB_LIMITS, connectMs: LOGIN_MS },
    authorization,
    onTools: () => {},
    onTrouble: () => {},
  });
  try {
    await unlessAborted(connect(connection, authorization), signal, expired(name));
    const login = await draft.read(name, url.href);
    if (!login || !parseLogin(login).tokens) throw nothingToSignInTo(name);
    await logins.lock.run(() => logins.write(name, url.href, login));
    return connection.tools.length;
  } finally {
    consent.close();
    await connection.close();
  }
}

const expired = (name: string): ExcursorError => new ExcursorError("mcp_login_expired", [name]);

/** Connects, and signs in if the server lists its tools without a sign-in. */
async function connect(connection: ServerConnection, authorization: Authorization | undefined): Promise<void> {
  await connection.connect();
  if ((await authorization?.token()) !== undefined) return;
  await authorization?.renew({ type: "login", scope: undefined, resourceMetadataUrl: undefined }, undefined, false);
}

/** Returns the server if a user can sign in to it. Throws if not. */
export function checkSignIn(server: ServerConfig): HttpServer {
  const { name } = server;
  if (server.type === "stdio" || !server.oauth) throw nothingToSignInTo(name);
  if (server.oauth.grant === "client_credentials") {
    throw new ExcursorError("mcp_no_login", `The server ${name} uses client credentials and needs no sign-in.`, {
      hint: `To test them: excursor mcp test ${name}`,
    });
  }
  return server;
}

const nothingToSignInTo = (name: string): ExcursorError =>
  new ExcursorError("mcp_no_login", `The server ${name} does not use a sign-in.`);
