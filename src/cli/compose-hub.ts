import { homedir } from "node:os";
import type { Config } from "../config/settings.ts";
import type { Secret } from "../core/secret.ts";
import type { Log } from "../observe/log.ts";
import type { Hub } from "../tools/hub.ts";
import type { ServerConfig } from "../tools/server-config.ts";
import { findServers } from "../tools/server-files.ts";
import { noteTools } from "../tools/tool-pins.ts";
import { openServerLogins } from "./open-server-logins.ts";

export interface ComposeHubOptions {
  readonly home: string;
  readonly log: Log;
  readonly onSecret: (secret: Secret) => void;
  /** The name of the key that a principal came with. */
  readonly keyName: (principalId: string) => string | undefined;
  /** With more tools than this, a search stands for them. */
  readonly searchAbove?: number;
  /** Starts the servers now, not with the first turn that wants them. */
  readonly isEager: boolean;
  /** Where sign-ins at servers are. */
  readonly keychain: Config["keychain"];
}

/** The hub of the gateway, if the user has set up any server. What is wrong with one is told, and costs only that one. */
export async function composeHub({
  home,
  log,
  onSecret,
  keyName,
  searchAbove,
  isEager,
  keychain,
}: ComposeHubOptions): Promise<Hub | undefined> {
  const places = { home, project: process.cwd(), userHome: homedir(), environment: process.env };
  const { servers, keys, problems, unapproved } = findServers(places);
  for (const { text } of problems) log.warn({}, text);
  for (const { server } of unapproved) {
    log.warn({ server: server.name }, "this folder asks for an MCP server that is not approved: excursor mcp approve");
  }
  if (servers.length === 0) return undefined;
  for (const server of servers) {
    for (const secret of secretsIn(server)) {
      // Short ones are words, and would be struck out of every line.
      if (secret.reveal().length >= MIN_SECRET_CHARS) onSecret(secret);
    }
  }
  // Only loaded where it is wanted: the SDK behind it is large.
  const { createHub } = await import("../tools/hub.ts");
  const { createAuthorization } = await import("../tools/oauth/authorization.ts");
  const logins = openServerLogins(home, { keychain }, (text) => log.warn({}, text));
  const hub = createHub({
    servers,
    keys,
    keyName,
    environment: process.env,
    authorize: (server) => createAuthorization(server, { logins, onSecret }),
    ...(searchAbove !== undefined && { searchAbove }),
    onTrouble: (server, error) => log.warn({ server, code: error.code }, error.message),
  });
  hub.onTools(({ name, tools, problems: wrong }) => {
    log.info({ server: name, tools: tools.length }, "the MCP server is ready");
    for (const text of [...wrong, ...noteTools(home, name, tools)]) log.warn({ server: name }, text);
  });
  if (isEager) void hub.connect();
  return hub;
}

const secretsIn = (server: ServerConfig): readonly Secret[] =>
  server.type === "stdio"
    ? Object.values(server.env)
    : [...Object.values(server.headers), server.oauth?.clientSecret, server.oauth?.privateKey].filter(
        (one) => one !== undefined,
      );

const MIN_SECRET_CHARS = 8;
