import type { McpServer } from "@agentclientprotocol/sdk";
import { ExcursorError } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import type { EditorServers } from "../../faces/acp-agent/server-tools.ts";
import type { Hub } from "../../mcp/hub.ts";
import { readServers, type ServerConfig } from "../../mcp/servers/server-config.ts";
import type { Log } from "../../observe/log.ts";
import { secretsIn } from "./server-secrets.ts";

const MAX_SERVERS = 50;

/** How long the start of a session waits for its MCP servers. Its turns do not wait. */
const START_MS = 10_000;

/**
 * Opens the MCP servers that the editor names for a conversation. The editor runs as the same user and could start them
 * itself. No HTTP route leads here: callers over HTTP cannot name servers (SEC-40).
 */
export function createEditorServers(
  log: Log,
  onSecret: (secret: Secret) => void,
): {
  open(servers: readonly McpServer[], folder: string): EditorServers;
  close(): Promise<void>;
} {
  const opened = new Set<EditorServers>();
  return {
    open(named, folder) {
      const servers = readEditorServers(named, folder);
      for (const secret of servers.flatMap(secretsIn)) onSecret(secret);
      // Loaded on demand: the SDK behind it is large.
      let hub: Promise<Hub> | undefined;
      const load = async () => {
        const { createHub } = await import("../../mcp/hub.ts");
        return createHub({
          servers,
          environment: process.env,
          patienceMs: START_MS,
          // The editor chose these servers, so all their tools are offered.
          searchAbove: Number.POSITIVE_INFINITY,
          onTrouble: (server, error) => log.warn({ server, code: error.code }, error.message),
        });
      };
      const own: EditorServers = {
        async open(principal, signal) {
          hub ??= load();
          return (await hub).open(principal, signal);
        },
        async close() {
          opened.delete(own);
          await (await hub)?.close();
        },
      };
      opened.add(own);
      return own;
    },
    close: async () => {
      await Promise.all([...opened].map((servers) => servers.close()));
    },
  };
}

function readEditorServers(named: readonly McpServer[], folder: string): readonly ServerConfig[] {
  if (named.length > MAX_SERVERS) throw invalid(`mcpServers: expected at most ${MAX_SERVERS} servers`);
  const entries = new Map(named.map((server) => [server.name, entryOf(server, folder)]));
  if (entries.size < named.length) throw invalid("mcpServers: two servers have the same name");
  // Variables in the editor's values are not expanded.
  const { servers, problems } = readServers(Object.fromEntries(entries), "session", undefined);
  if (problems.length > 0) throw invalid(problems.map(({ text }) => text).join(" "));
  // No OAuth: no user can sign in here, so the editor must send the credentials.
  return servers.map((server) => (server.type === "stdio" ? server : { ...server, oauth: undefined }));
}

const entryOf = (server: McpServer, folder: string): object =>
  "command" in server
    ? { command: server.command, args: server.args, env: pairs(server.env), cwd: folder }
    : { type: server.type, url: server.url, headers: pairs(server.headers) };

const pairs = (values: readonly { readonly name: string; readonly value: string }[]) =>
  Object.fromEntries(values.map(({ name, value }) => [name, value]));

const invalid = (text: string): ExcursorError => new ExcursorError("bad_mcp_server", text, { field: "mcpServers" });
