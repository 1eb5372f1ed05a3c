import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { openServerLogins } from "../../../app/hub/open-server-logins.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { unlessAborted } from "../../../core/abort-race.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { ServerConnection } from "../../../mcp/connection/server-connection.ts";
import { HUB_LIMITS } from "../../../mcp/limits.ts";
import { type Authorization, createAuthorization } from "../../../mcp/oauth/authorization.ts";
import { createMemoryLogins } from "../../../mcp/oauth/login-store.ts";
import { openLoopbackConsent } from "../../../mcp/oauth/loopback-consent.ts";
import { revokeLogin } from "../../../mcp/oauth/revoke-login.ts";
import { formatLogin, parseLogin } from "../../../mcp/oauth/server-login.ts";
import { unknownServer } from "../../../mcp/servers/edit-servers.ts";
import type { HttpServer } from "../../../mcp/servers/server-config.ts";
import { findServers } from "../../../mcp/servers/server-files.ts";
import { createWatchdog } from "../../../process/watchdog.ts";
import { openBrowser } from "../../open-browser.ts";
import { serverPlaces } from "../../open-hub.ts";
import { startSpinner } from "../../terminal/spinner.ts";

interface McpLoginFlags {
  readonly browser: boolean;
  readonly json: boolean;
}

/** Time for the user to find a password. */
const LOGIN_MS = 600_000;

/** Signs in to a server, checks that it accepts us, and stores the login. Ctrl-C changes nothing. */
export async function runMcpLogin(name: string, { browser, json }: McpLoginFlags): Promise<void> {
  const server = serverToSignInTo(name);
  const { home, values } = loadConfig({ flags: {}, environment: process.env });
  const notices: string[] = [];
  const logins = openServerLogins(home, values, (text) => notices.push(text));
  const before = parseLogin(await logins.read(name, server.url.href));
  const interrupt = new AbortController();
  process.once("SIGINT", () => interrupt.abort());
  const signal = AbortSignal.any([interrupt.signal, AbortSignal.timeout(LOGIN_MS)]);
  // The sign-in works on a copy: the stored login stays, unused, until the new one is complete.
  const draft = createMemoryLogins();
  await draft.write(name, server.url.href, formatLogin({ wantedScope: before.wantedScope }));
  const consent = await openLoopbackConsent({
    port: server.oauth?.callbackPort ?? 0,
    show: (page) => showPage(page, { browser, json }),
    signal,
  });
  const authorization = createAuthorization(server, { logins: draft, consent });
  const connection = new ServerConnection({
    server,
    environment: process.env,
    watchdog: createWatchdog(),
    limits: { ...HUB_LIMITS, connectMs: LOGIN_MS },
    authorization,
    onTools: () => {},
    onTrouble: () => {},
  });
  const pasted = process.stdin.isTTY ? createInterface({ input: process.stdin }) : undefined;
  // With a reader attached, the terminal reports Ctrl-C to it instead of the process.
  pasted?.on("line", (line) => void consent.offer(line.trim())).on("SIGINT", () => interrupt.abort());
  const spinner = startSpinner();
  try {
    await unlessAborted(signIn(connection, authorization), signal);
    const login = await draft.read(name, server.url.href);
    if (!login || !parseLogin(login).tokens) throw nothingToSignInTo(name);
    await logins.lock.run(() => logins.write(name, server.url.href, login));
    spinner.stop();
    for (const notice of notices) process.stderr.write(`${notice}\n`);
    const { length: tools } = connection.tools;
    process.stdout.write(json ? `${JSON.stringify({ name, tools })}\n` : `Signed in to ${name}: ${tools} tools.\n`);
  } catch (error) {
    if (interrupt.signal.aborted)
      throw new ExcursorError("canceled", "The sign-in was cancelled. Nothing was changed.");
    throw error;
  } finally {
    spinner.stop();
    pasted?.close();
    consent.close();
    await connection.close();
  }
}

/** Connects, and signs in if the server lists its tools without a sign-in. */
async function signIn(connection: ServerConnection, authorization: Authorization | undefined): Promise<void> {
  await connection.connect();
  if ((await authorization?.token()) !== undefined) return;
  await authorization?.renew({ type: "login", scope: undefined, resourceMetadataUrl: undefined }, undefined, false);
}

function serverToSignInTo(name: string): HttpServer {
  const { servers } = findServers(serverPlaces());
  const server = servers.find((candidate) => candidate.name === name);
  if (!server)
    throw unknownServer(
      name,
      servers.map((known) => known.name),
    );
  if (server.type === "stdio" || !server.oauth) throw nothingToSignInTo(name);
  if (server.oauth.grant === "client_credentials") {
    throw new ExcursorError("invalid-request", `The server ${name} uses client credentials and needs no sign-in.`, {
      code: "mcp_no_login",
      hint: `To test them: excursor mcp test ${name}`,
    });
  }
  return server;
}

const nothingToSignInTo = (name: string): ExcursorError =>
  new ExcursorError("invalid-request", `The server ${name} does not use a sign-in.`, {
    code: "mcp_no_login",
    hint: "Give a program its credentials under env in mcp.json, and a remote server its key under headers.",
  });

function showPage(page: URL, { browser, json }: McpLoginFlags): void {
  const { href } = page;
  if (json) process.stdout.write(`${JSON.stringify({ url: href })}\n`);
  const isOpened = browser && openBrowser(href);
  const address = styleText("bold", href, { stream: process.stderr });
  process.stderr.write(
    isOpened
      ? `Your browser opens for the sign-in. If it does not, open this URL:\n\n  ${address}\n\n`
      : `Open this URL in a browser:\n\n  ${address}\n\n`,
  );
  const elsewhere =
    "If the browser is on another machine, it cannot open the last page. Paste the URL of that page here.\n";
  process.stderr.write(`${process.stdin.isTTY ? elsewhere : ""}Waiting for the sign-in. Ctrl-C cancels.\n`);
}

/** Removes a sign-in, and revokes it at the server. */
export async function runMcpLogout(name: string): Promise<void> {
  const { home, values } = loadConfig({ flags: {}, environment: process.env });
  const logins = openServerLogins(home, values, (text) => process.stderr.write(`${text}\n`));
  const server = findServers(serverPlaces())
    .servers.filter((candidate) => candidate.type !== "stdio")
    .find((candidate) => candidate.name === name);
  const kept = server && (await logins.read(name, server.url.href));
  if (!(await logins.lock.run(() => logins.remove(name)))) {
    throw new ExcursorError("not-found", `There is no stored sign-in to ${name}.`, {
      code: "mcp_not_signed_in",
      hint: null,
    });
  }
  process.stdout.write(`Signed out of ${name}.\n`);
  if (!kept || (await revokeLogin(server, kept))) return;
  process.stderr.write("The tokens could not be revoked at the server. They stay valid there until they expire.\n");
}
