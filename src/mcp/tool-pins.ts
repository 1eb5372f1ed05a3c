import { hash } from "node:crypto";
import { join } from "node:path";
import { openHome } from "../config/home.ts";
import { writePrivate } from "../config/write-private.ts";
import { ExcursorError } from "../core/errors.ts";
import { readTree, type Tree } from "./server-files.ts";
import type { ServerTool } from "./tool-list.ts";

export interface CheckedTools {
  /** Names of tools that differ from what was pinned: they are held back until somebody approves them. */
  readonly held: ReadonlySet<string>;
  /** One sentence for each thing that the user should know. */
  readonly notes: readonly string[];
}

export const pinsFile = (home: string): string => join(home, "mcp-tools.json");

/**
 * Compares what a server says of its tools with what is pinned. A server that was harmless when it was set up can describe its
 * tools otherwise later, and models do what descriptions say (SEC-41): such a tool is held back. The tools of a new server, and new
 * tools of a known one, are pinned as they are. Where nothing can be kept, that is told, and the tools work all the same.
 */
export function checkTools(home: string, server: string, tools: readonly ServerTool[]): CheckedTools {
  try {
    return compare(home, server, tools);
  } catch (error) {
    const { message } = ExcursorError.from(error);
    const note = `Whether the MCP server "${server}" has changed its tools is not known: ${message}`;
    return { held: new Set(), notes: [note] };
  }
}

/** Pins these tools of a server as they are now. */
export function pinTools(home: string, server: string, tools: readonly ServerTool[]): void {
  const kept = readTree(pinsFile(home));
  write(home, { ...kept, [server]: { ...pinsOf(kept, server), ...digestsOf(tools) } });
}

/** Forgets what is pinned of a server: under the same name there may be another one. */
export function forgetTools(home: string, server: string): void {
  const { [server]: pinned, ...others } = readTree(pinsFile(home));
  if (pinned !== undefined) write(home, others);
}

function compare(home: string, server: string, tools: readonly ServerTool[]): CheckedTools {
  const kept = readTree(pinsFile(home));
  const before = pinsOf(kept, server);
  const added = tools.filter(({ name }) => !Object.hasOwn(before ?? {}, name));
  // What a server does not offer now stays pinned: it may come back as something else.
  if (added.length > 0) write(home, { ...kept, [server]: { ...before, ...digestsOf(added) } });
  if (!before) return { held: new Set(), notes: [] };
  const changed = tools.filter((tool) => Object.hasOwn(before, tool.name) && before[tool.name] !== digestOf(tool));
  const notes = [];
  if (added.length > 0) notes.push(`The MCP server "${server}" has new tools: ${namesOf(added)}.`);
  return { held: new Set(changed.map(({ name }) => name)), notes };
}

const namesOf = (tools: readonly ServerTool[]): string => tools.map(({ name }) => name).join(", ");

type Pins = Readonly<Record<string, string>>;

const pinsOf = (tree: Tree, server: string): Pins | undefined =>
  Object.hasOwn(tree, server) ? (tree[server] as Pins) : undefined;

function write(home: string, tree: Tree): void {
  openHome(home);
  writePrivate(pinsFile(home), `${JSON.stringify(tree, null, 2)}\n`, { keepsPrevious: false });
}

const digestsOf = (tools: readonly ServerTool[]): Pins =>
  Object.fromEntries(tools.map((tool) => [tool.name, digestOf(tool)]));

const digestOf = ({ description, schema }: ServerTool): string =>
  hash("sha256", JSON.stringify([description, schema]), "base64url").slice(0, 22);
