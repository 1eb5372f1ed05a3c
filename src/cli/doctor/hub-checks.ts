import { ExcursorError } from "../../core/errors.ts";
import type { ServerConfig } from "../../tools/server-config.ts";
import { findServers } from "../../tools/server-files.ts";
import { serverPlaces, withHub } from "../open-hub.ts";
import { printable } from "../printable.ts";
import { type Check, type Finding, ok, skip, warn } from "./check.ts";

/** The MCP servers, each by its name. Nothing that is wrong with one keeps the gateway from working. */
export function hubChecks({ isQuick }: { readonly isQuick: boolean }): readonly Check[] {
  try {
    const { servers, problems } = findServers(serverPlaces());
    const wrong = problems.map(
      ({ server, text }): Check => ({ id: `mcp/${printable(server)}`, look: () => warn(text, "Look at mcp.json.") }),
    );
    return [...wrong, ...servers.map((server) => serverCheck(server, isQuick))];
  } catch (error) {
    const { message, hint } = ExcursorError.from(error);
    return [{ id: "mcp", look: () => warn(message, hint ?? "Look at mcp.json.") }];
  }
}

const serverCheck = (server: ServerConfig, isQuick: boolean): Check => ({
  id: `mcp/${printable(server.name)}`,
  look() {
    if (server.isDisabled) return skip("Disabled.");
    if (isQuick) return skip("Not tried.");
    return withHub(
      () => [server],
      async ({ connections: [connection] }): Promise<Finding> => {
        try {
          await connection?.connect();
        } catch (error) {
          const { message, hint } = ExcursorError.from(error);
          return warn(printable(message), hint ?? "The other servers work without it.");
        }
        return ok(`${connection?.tools.length ?? 0} tools.`);
      },
    );
  },
});
