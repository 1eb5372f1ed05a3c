import { homedir } from "node:os";
import { ExcursorError } from "../../core/errors.ts";
import type { Toolbox, ToolHub } from "../../core/hub/tool-hub.ts";
import type { Secret } from "../../core/secret.ts";
import { within } from "../../core/within.ts";
import type { Hub, HubStats } from "../../mcp/hub.ts";
import { type FoundServers, findServers, serverFiles } from "../../mcp/servers/server-files.ts";
import { checkTools, pinsFile } from "../../mcp/tools/tool-pins.ts";
import type { Log } from "../../observe/log.ts";
import type { SecretOrigin } from "../../observe/redactor.ts";
import { followFiles } from "../follow-files.ts";
import type { Config } from "../load-config.ts";
import { openServerLogins } from "./open-server-logins.ts";
import { secretsIn } from "./server-secrets.ts";
import { ServerSignIns } from "./server-sign-ins.ts";

export interface ComposeHubOptions {
  readonly home: string;
  readonly log: Log;
  readonly onSecret: (secret: Secret, origin?: SecretOrigin) => void;
  readonly keyName: (principalId: string) => string | undefined;
  /** Above this number of tools, the model gets a search tool instead. */
  readonly searchAbove?: number;
  /** See `HubOptions`. */
  readonly patienceMs?: number;
  /** Starts the servers now, and waits this long for them. Absent: they start when their tools are needed. */
  readonly startMs?: number | undefined;
  /** Where sign-ins at MCP servers are stored. */
  readonly keychain: Config["keychain"];
}

/** A hub that follows the configuration files. */
export interface ComposedHub extends ToolHub {
  /** Undefined while no server is configured. */
  readonly current: Hub | undefined;
  readonly signIns: ServerSignIns;
  stats(): HubStats;
  close(): Promise<void>;
}

/** Opens the hub. A broken server is logged and skipped; an unreadable file leaves the servers unchanged. */
export async function composeHub(options: ComposeHubOptions): Promise<ComposedHub> {
  const { home, log, startMs } = options;
  const places = { home, project: process.cwd(), userHome: homedir(), environment: process.env };
  const logins = openServerLogins(home, options, (text) => log.warn({}, text));
  let current: Hub | undefined;
  const signIns = new ServerSignIns({
    logins,
    onSecret: (name, secret) => options.onSecret(secret, { type: "server", name }),
    onDone: () => current?.retry(),
  });

  const follow = async (found: FoundServers): Promise<void> => {
    tell(found, options);
    if (current) {
      current.follow(found);
      return;
    }
    if (found.servers.length === 0) return;
    current = await openHub(found, options, logins);
    if (startMs !== undefined) await within(current.connect(), startMs);
  };
  const refollow = async (): Promise<void> => {
    try {
      await follow(findServers(places));
      log.info({ servers: current?.connections.length ?? 0 }, "MCP configuration reloaded");
    } catch (error) {
      const { message } = ExcursorError.from(error);
      log.warn({}, `${message} The MCP servers keep their previous configuration.`);
    }
  };
  let following: Promise<void> = Promise.resolve();
  // Starts before the first read, so that no change is missed.
  const stop = followFiles([...serverFiles(places), logins.path, pinsFile(home)], (path) => {
    if (path === logins.path) current?.retry();
    else if (path === pinsFile(home)) current?.review();
    else following = following.then(refollow);
  });
  try {
    following = follow(findServers(places));
    await following;
  } catch (error) {
    stop();
    throw error;
  }
  return {
    get current() {
      return current;
    },
    signIns,
    stats: () => current?.stats() ?? NO_SERVERS,
    open: async (principal, signal) => current?.open(principal, signal) ?? EMPTY,
    async close() {
      stop();
      signIns.close();
      await following;
      await current?.close();
    },
  };
}

const NO_SERVERS: HubStats = { servers: new Map(), calls: 0 };

const EMPTY: Toolbox = {
  tools: [],
  call: () => Promise.reject(new ExcursorError("internal", "There is no tool to call.")),
  placeOf: () => undefined,
};

function tell({ problems, unapproved, servers }: FoundServers, { log, onSecret }: ComposeHubOptions): void {
  for (const { text } of problems) log.warn({}, text);
  for (const { server } of unapproved) {
    log.warn(
      { server: server.name },
      "this folder configures an MCP server that is not approved: run excursor mcp approve",
    );
  }
  for (const secret of servers.flatMap(secretsIn)) onSecret(secret);
}

async function openHub(
  { servers, keys }: FoundServers,
  { home, log, onSecret, keyName, searchAbove, patienceMs }: ComposeHubOptions,
  logins: ReturnType<typeof openServerLogins>,
): Promise<Hub> {
  // Loaded on demand: the SDK behind it is large.
  const { createHub } = await import("../../mcp/hub.ts");
  const { createAuthorization } = await import("../../mcp/oauth/authorization.ts");
  const hub = createHub({
    servers,
    keys,
    keyName,
    patienceMs,
    environment: process.env,
    authorize: (server) => {
      const origin = { type: "server", name: server.name } as const;
      return createAuthorization(server, { logins, onSecret: (secret) => onSecret(secret, origin) });
    },
    ...(searchAbove !== undefined && { searchAbove }),
    onTrouble: (server, error) => log.warn({ server, code: error.code }, error.message),
    onNote: (server, text) => log.info({ server }, text),
    screen: (server, tools) => {
      const { held, notes } = checkTools(home, server, tools);
      for (const text of notes) log.warn({ server }, text);
      return held;
    },
  });
  hub.onTools(({ name, tools, problems: wrong }) => {
    log.info({ server: name, tools: tools.length }, "the MCP server is ready");
    for (const text of wrong) log.warn({ server: name }, text);
  });
  return hub;
}
