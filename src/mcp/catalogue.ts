import { spellToolName } from "../core/spell-tool-name.ts";
import type { ToolDefinition } from "../core/turn.ts";
import type { Connection } from "./connection.ts";
import type { ServerTool } from "./tool-list.ts";

/** A tool of one of the servers, under the name that it has in the catalogue. */
interface CatalogueTool extends ToolDefinition {
  readonly connection: Connection;
  readonly tool: ServerTool;
}

export type Catalogue = ReadonlyMap<string, CatalogueTool>;

/**
 * `server__tool`, spelt so that every dialect can take it. Where the two underscores do not tell where the server's name
 * ends, the digest does.
 */
export function catalogueName(server: string, tool: string): string {
  const name = `${server}__${tool}`;
  const spelt = spellToolName(name);
  const isPlain = spelt === name && !server.includes("__") && !server.endsWith("_");
  return isPlain ? name : spellToolName(name, JSON.stringify([server, tool]));
}

/** The tools of all servers in one list. It is the same whatever the order in which the servers came. */
export function buildCatalogue(connections: readonly Connection[], mayUse: MayUse): Catalogue {
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

/** `server`, `server/tool` and `*` in either: what a key may use. */
export function createAllowList(patterns: readonly string[]): MayUse {
  const rules = patterns.map((pattern) => {
    const [server = "", tool = "*"] = pattern.split(/\/(.*)/s);
    return [globOf(server), globOf(tool)] as const;
  });
  return (server, tool) => rules.some(([servers, tools]) => servers.test(server) && tools.test(tool));
}

/** The servers that somebody with these may use anything of. */
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
