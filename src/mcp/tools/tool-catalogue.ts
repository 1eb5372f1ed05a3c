import { spellToolName } from "../../core/spell-tool-name.ts";
import type { ToolDefinition } from "../../core/turn.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import type { ServerTool } from "./tool-list.ts";

/** A tool of a server, under its name in the catalogue. */
interface CatalogueTool extends ToolDefinition {
  readonly connection: ServerConnection;
  readonly tool: ServerTool;
}

export type ToolCatalogue = ReadonlyMap<string, CatalogueTool>;

/**
 * Returns `server__tool` in characters that every face accepts. Appends a digest if the underscores do not tell where
 * the server's name ends.
 */
export function catalogueName(server: string, tool: string): string {
  const name = `${server}__${tool}`;
  const spelt = spellToolName(name);
  const isPlain = spelt === name && !server.includes("__") && !server.endsWith("_");
  return isPlain ? name : spellToolName(name, JSON.stringify([server, tool]));
}

/** Lists the tools of all servers, in an order that does not depend on the order of the servers. */
export function buildToolCatalogue(connections: readonly ServerConnection[], mayUse: MayUse): ToolCatalogue {
  const tools = connections.flatMap((connection) =>
    connection.tools
      .filter((tool) => mayUse(connection.name, tool.name))
      .map((tool): CatalogueTool => {
        const { description, schema } = tool;
        return { name: catalogueName(connection.name, tool.name), description, schema, connection, tool };
      }),
  );
  tools.sort((a, b) => (a.name < b.name ? -1 : 1));
  return new Map(tools.map((tool) => [tool.name, tool]));
}

type MayUse = (server: string, tool: string) => boolean;

/** Creates the check of what a key may use, from patterns `server` and `server/tool`, with `*` in either. */
export function createAllowList(patterns: readonly string[]): MayUse {
  const rules = patterns.map((pattern) => {
    const [server = "", tool = "*"] = pattern.split(/\/(.*)/s);
    return [globOf(server), globOf(tool)] as const;
  });
  return (server, tool) => rules.some(([servers, tools]) => servers.test(server) && tools.test(tool));
}

/** Creates the check of which servers the patterns allow at least one tool of. */
export function createServerFilter(patterns: readonly string[]): (server: string) => boolean {
  const rules = patterns.map((pattern) => globOf(pattern.split("/", 1)[0] ?? ""));
  return (server) => rules.some((rule) => rule.test(server));
}

const globOf = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .split(/\*+/)
      .map((text) => text.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"))
      .join(".*")}$`,
    "s",
  );
