import { homedir } from "node:os";
import { openServerLogins } from "../app/hub/open-server-logins.ts";
import { loadConfig } from "../app/load-config.ts";
import { homeFolder } from "../config/home.ts";
import { printable } from "../core/printable.ts";
import { createHub, type Hub } from "../mcp/hub.ts";
import { createAuthorization } from "../mcp/oauth/authorization.ts";
import { type FoundServers, findServers, type ServerPlaces } from "../mcp/servers/server-files.ts";
import { checkTools } from "../mcp/tools/tool-pins.ts";

export const serverPlaces = (): ServerPlaces => ({
  home: homeFolder(process.env),
  project: process.cwd(),
  userHome: homedir(),
  environment: process.env,
});

/** Runs the work with a hub of the chosen servers, and ends them afterwards. */
export async function withHub<T>(
  choose: (found: FoundServers) => FoundServers["servers"],
  work: (hub: Hub, found: FoundServers, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const places = serverPlaces();
  const found = findServers(places);
  const { values } = loadConfig({ flags: {}, environment: process.env });
  const logins = openServerLogins(places.home, values, (text) => process.stderr.write(`${printable(text)}\n`));
  const hub = createHub({
    servers: choose(found),
    keys: found.keys,
    environment: process.env,
    authorize: (server) => createAuthorization(server, { logins }),
    screen: (server, tools) => {
      const { held, notes } = checkTools(places.home, server, tools);
      for (const text of notes) process.stderr.write(`${printable(text)}\n`);
      return held;
    },
  });
  const abort = new AbortController();
  const stop = () => {
    abort.abort();
    void hub.close();
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  try {
    return await work(hub, found, abort.signal);
  } finally {
    await hub.close();
    process.removeListener("SIGINT", stop).removeListener("SIGTERM", stop);
  }
}
