import { hash } from "node:crypto";
import { join } from "node:path";
import { openHome } from "../config/home.ts";
import { writePrivate } from "../config/write-private.ts";
import { ExcursorError } from "../core/errors.ts";
import { readTree } from "./server-files.ts";
import type { ServerTool } from "./tool-list.ts";

/**
 * Compares what a server says of its tools with what it said when it was last seen, and keeps it. A server that was
 * harmless when it was set up can describe its tools otherwise later, and models do what descriptions say (SEC-41).
 * Gives a sentence for each kind of change. Where nothing can be kept, that is told, and the tools work all the same.
 */
export function noteTools(home: string, server: string, tools: readonly ServerTool[]): readonly string[] {
  try {
    return compare(home, server, tools);
  } catch (error) {
    const { message } = ExcursorError.from(error);
    return [`Whether the MCP server "${server}" has changed its tools is not known: ${message}`];
  }
}

function compare(home: string, server: string, tools: readonly ServerTool[]): readonly string[] {
  openHome(home);
  const path = join(home, "mcp-tools.json");
  const kept = readTree(path);
  const before = kept[server] as Readonly<Record<string, string>> | undefined;
  const now = Object.fromEntries(tools.map((tool) => [tool.name, digestOf(tool)]));
  if (JSON.stringify(before) !== JSON.stringify(now)) {
    writePrivate(path, `${JSON.stringify({ ...kept, [server]: now }, null, 2)}\n`, { keepsPrevious: false });
  }
  if (!before) return [];
  const changed = Object.keys(now).filter((name) => name in before && before[name] !== now[name]);
  const added = Object.keys(now).filter((name) => !(name in before));
  return [
    ...(changed.length > 0 ? [`The MCP server "${server}" now describes otherwise: ${changed.join(", ")}.`] : []),
    ...(added.length > 0 ? [`The MCP server "${server}" has new tools: ${added.join(", ")}.`] : []),
  ];
}

const digestOf = ({ description, schema }: ServerTool): string =>
  hash("sha256", JSON.stringify([description, schema]), "base64url").slice(0, 22);
