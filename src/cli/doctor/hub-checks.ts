import { ExcursorError } from "../../core/errors.ts";
import { printable } from "../../core/printable.ts";
import type { ServerConnection } from "../../mcp/connection/server-connection.ts";
import type { ServerConfig } from "../../mcp/servers/server-config.ts";
import { findServers } from "../../mcp/servers/server-files.ts";
import { serverPlaces, withHub } from "../open-hub.ts";
import { type Check, type Finding, ok, skip, warn } from "./check.ts";

/** Checks the MCP servers. A failing one does not affect the gateway. */
export function hubChecks({ isQuick }: { readonly isQuick: boolean }): readonly Check[] {
  try {
    const { servers, problems } = findServers(serverPlaces());
    const wrong = problems.map(
      ({ server, text }): Check => ({ id: `mcp/${printable(server)}`, look: () => warn(text, "Check mcp.json.") }),
    );
    let tried: ReturnType<typeof tryAll> | undefined;
    const findingOf = async (server: ServerConfig): Promise<Finding> => {
      if (server.isDisabled) return skip("Disabled.");
      if (isQuick) return skip("Skipped.");
      // Connects to all at once, so that slow ones do not add up.
      tried ??= tryAll(servers);
      return (await tried).get(server.name) ?? skip("Skipped.");
    };
    const own = servers.map(
      (server): Check => ({ id: `mcp/${printable(server.name)}`, look: () => findingOf(server) }),
    );
    return [...wrong, ...own];
  } catch (error) {
    const { message, hint } = ExcursorError.from(error);
    return [{ id: "mcp", look: () => warn(message, hint ?? "Check mcp.json.") }];
  }
}

const tryAll = (servers: readonly ServerConfig[]): Promise<ReadonlyMap<string, Finding>> =>
  withHub(
    () => servers,
    async (hub) => {
      await hub.connect();
      return new Map(hub.connections.map((connection) => [connection.name, findingFor(connection)]));
    },
  );

function findingFor({ name, error, tools, held, problems: [problem] }: ServerConnection): Finding {
  if (held.length > 0) {
    const names = held.map((tool) => tool.name).join(", ");
    return warn(
      printable(
        `These tools have changed, or may have changed, since they were approved. They are not offered: ${names}.`,
      ),
      `Review and approve them: excursor mcp approve ${name}`,
    );
  }
  if (error) return warn(printable(error.message), error.hint ?? "The other servers work without it.");
  if (problem !== undefined) return warn(printable(problem), "Its other tools work.");
  return ok(`${tools.length} tools.`);
}
