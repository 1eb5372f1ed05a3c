import type { ServerLogins } from "../../../credentials/server-logins.ts";
import { revokeLogin } from "../../../mcp/oauth/revoke-login.ts";
import { findServers } from "../../../mcp/servers/server-files.ts";
import { serverPlaces } from "../../open-hub.ts";

/**
 * Removes the sign-in to an MCP server, and revokes it there if the server is still configured. If that fails, the tokens
 * stay valid at the server until they expire.
 */
export async function signOutOfServer(
  logins: ServerLogins,
  name: string,
): Promise<"none" | "done" | "kept by the server"> {
  const server = findServers(serverPlaces())
    .servers.filter((candidate) => candidate.type !== "stdio")
    .find((candidate) => candidate.name === name);
  const kept = server && (await logins.read(name, server.url.href));
  if (!(await logins.lock.run(() => logins.remove(name)))) return "none";
  return !kept || (await revokeLogin(server, kept)) ? "done" : "kept by the server";
}
