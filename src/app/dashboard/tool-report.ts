import { homedir } from "node:os";
import type { AgentInfo } from "../../core/driver.ts";
import { ExcursorError } from "../../core/errors.ts";
import type { HubResult } from "../../core/hub/tool-hub.ts";
import { within } from "../../core/within.ts";
import { MAX_REPLY_BYTES } from "../../dashboard/call.ts";
import type { Approval, ToolSources } from "../../dashboard/calls/tools.ts";
import type { AgentRow, McpServerRow, SignInRow, ToolReply, ToolRow } from "../../dashboard/messages.ts";
import type { ServerConnection } from "../../mcp/connection/server-connection.ts";
import { NEEDS_LOGIN } from "../../mcp/oauth/errors.ts";
import { approveServers, unknownServer } from "../../mcp/servers/edit-servers.ts";
import type { ServerConfig } from "../../mcp/servers/server-config.ts";
import { findServers } from "../../mcp/servers/server-files.ts";
import { targetOf } from "../../mcp/servers/server-target.ts";
import { catalogueName } from "../../mcp/tools/tool-catalogue.ts";
import type { ServerTool } from "../../mcp/tools/tool-list.ts";
import { pinTools, toolDigest } from "../../mcp/tools/tool-pins.ts";
import { OWNER } from "../../server/gate/keys/caller-keys.ts";
import type { GatewayParts } from "../compose-gateway.ts";
import type { SignInState } from "../hub/server-sign-ins.ts";

const CONNECT_MS = 15_000;
const CALL_MS = 120_000;
/** Some 450 bytes each. */
const MAX_TOOLS = 300;
const MAX_SERVERS = 50;
const MAX_AGENTS = 50;
const MAX_TEXT = 300;
/** Quotes and other characters take more bytes as JSON. */
const MAX_RESULT_CHARS = MAX_REPLY_BYTES / 4;

/** Returns what the dashboard shows and does with MCP servers and agents. */
export function toolSources({ hub, agents }: Pick<GatewayParts, "hub" | "agents">, home: string): ToolSources {
  const found = () => findServers({ home, project: process.cwd(), userHome: homedir(), environment: process.env });
  const connectionOf = (name: string) => hub.current?.connections.find((one) => one.name === name);
  const toolOf = (server: string, name: string): ServerTool => {
    const connection = connectionOf(server);
    const tool = connection && [...connection.tools, ...connection.held].find((one) => one.name === name);
    if (tool) return tool;
    throw new ExcursorError("mcp_unknown_tool", `The tool ${cut(`${server}/${name}`)} does not exist.`, {
      hint: "Connect the servers again.",
    });
  };
  return {
    list() {
      const { servers, unapproved, problems } = found();
      let left = MAX_TOOLS;
      const rows = servers.slice(0, MAX_SERVERS).map((server) => {
        const signIn = signInRow(hub.signIns.stateOf(server.name));
        const row = { ...serverRow(server, connectionOf(server.name), left), signIn };
        left -= row.tools.length;
        return row;
      });
      return {
        servers: [
          ...rows,
          ...unapproved.slice(0, MAX_SERVERS).map(
            ({ server, digest }): McpServerRow => ({
              ...serverRow(server, undefined, 0),
              state: "not approved",
              digest,
            }),
          ),
        ],
        problems: problems.slice(0, MAX_SERVERS).map(({ text }) => cut(text)),
      };
    },
    agents: () => ({ agents: agents().slice(0, MAX_AGENTS).map(agentRow) }),
    async connect() {
      await within(hub.current?.connect() ?? Promise.resolve(), CONNECT_MS);
    },
    find(server, name): ToolReply {
      const { description, schema } = toolOf(server, name);
      if (JSON.stringify([description, schema]).length > MAX_RESULT_CHARS * 2) {
        throw new ExcursorError("too-large", "The schema of this tool is too large to be shown.", {
          hint: `Run: excursor mcp test ${server}`,
        });
      }
      return { description, schema };
    },
    async call(server, name, args, signal) {
      toolOf(server, name);
      const startedAt = performance.now();
      const current = hub.current;
      if (!current) throw unknownServer(server, []);
      const result = await current.call(current.catalogueFor(OWNER), catalogueName(server, name), args, {
        signal: AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]),
      });
      return {
        isError: result.isError,
        text: textOf(result).slice(0, MAX_RESULT_CHARS),
        durationMs: Math.round(performance.now() - startedAt),
      };
    },
    async signIn(name, signal) {
      const { servers } = found();
      const server = servers.find((one) => one.name === name);
      if (server) return { page: (await hub.signIns.begin(server, signal)).href };
      throw unknownServer(
        name,
        servers.map((one) => one.name),
      );
    },
    finishSignIn(name, address) {
      if (hub.signIns.offer(name, address)) return;
      throw new ExcursorError("mcp_wrong_address");
    },
    cancelSignIn: (name) => hub.signIns.cancel(name),
    async approve({ server, tool, digest }: Approval) {
      if (tool !== undefined) {
        const wanted = toolOf(server, tool);
        if (toolDigest(wanted) !== digest) throw changedSince(`${server}/${tool}`);
        pinTools(home, server, [wanted]);
        hub.current?.review();
        return;
      }
      const wanted = found().unapproved.find((one) => one.server.name === server);
      if (!wanted || wanted.digest !== digest) throw changedSince(server);
      await approveServers(home, [wanted]);
    },
  };
}

/** The user approves what the page has shown, and nothing else (SEC-41). */
const changedSince = (what: string): ExcursorError => new ExcursorError("mcp_changed", [cut(what)]);

function serverRow(server: ServerConfig, connection: ServerConnection | undefined, maxTools: number): McpServerRow {
  const { error, held = [], tools = [], problems = [] } = connection ?? {};
  return {
    name: cut(server.name),
    state: stateOf(server, connection),
    target: cut(targetOf(server)),
    origin: cut(server.origin),
    version: cut(connection?.about.version ?? ""),
    problems: [...(error ? [error.message] : []), ...problems].slice(0, 5).map(cut),
    digest: null,
    signIn: null,
    tools: [...held.map((tool) => toolRow(tool, true)), ...tools.map((tool) => toolRow(tool, false))].slice(
      0,
      maxTools,
    ),
  };
}

function signInRow(state: SignInState | undefined): SignInRow | null {
  if (!state) return null;
  if (state.type === "waiting") return { state: "waiting", page: state.page?.href ?? null };
  const { message, hint = null } = state.error;
  return { state: "failed", message: cut(message), hint };
}

const agentRow = ({ model, displayName, state, turns, problem }: AgentInfo): AgentRow => ({
  model: cut(model),
  name: cut(displayName),
  state,
  turns,
  problem: problem === undefined ? null : cut(problem),
});

function stateOf({ isDisabled }: ServerConfig, connection: ServerConnection | undefined): McpServerRow["state"] {
  if (isDisabled) return "disabled";
  if (connection?.error) return connection.error.code === NEEDS_LOGIN ? "needs sign-in" : "failed";
  const state = connection?.state;
  return state === "connecting" || state === "ready" ? state : "idle";
}

const toolRow = (tool: ServerTool, isHeld: boolean): ToolRow => ({
  name: tool.name,
  description: cut(tool.description),
  digest: toolDigest(tool),
  isHeld,
});

const textOf = ({ content }: HubResult): string =>
  content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n");

const cut = (text: string): string => text.slice(0, MAX_TEXT);
