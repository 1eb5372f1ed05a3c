import { hash } from "node:crypto";
import { join } from "node:path";
import { openHome } from "../../config/home.ts";
import { ExcursorError } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json/is-json-object.ts";
import { writePrivate } from "../../files/write-private.ts";
import { readTree, type Tree } from "../servers/server-files.ts";
import type { ServerTool } from "./tool-list.ts";

export interface CheckedTools {
  /** Names of tools that differ from their pins. They are held back until they are approved. */
  readonly held: ReadonlySet<string>;
  /** One sentence for each thing that the user should know. */
  readonly notes: readonly string[];
}

export const pinsFile = (home: string): string => join(home, "mcp-tools.json");

/**
 * Compares a server's tools with their pins. A server may change the descriptions of its tools after it was approved,
 * and models follow descriptions (SEC-41), so a changed tool is held back. Tools of a new server, and new tools of a
 * known one, are pinned as they are. If pins are lost (a damaged file), all tools are held back until they are
 * approved. If pins cannot be written, a note says so and new tools still work.
 */
export function checkTools(home: string, server: string, tools: readonly ServerTool[]): CheckedTools {
  const { tree, damage } = readPins(home);
  const before = pinsOf(tree, server);
  if (before === "lost")
    return { held: new Set(tools.map(({ name }) => name)), notes: lostNotes(server, tools, damage) };
  const known = before ?? {};
  const unpinned = tools.filter(({ name }) => !Object.hasOwn(known, name));
  const [added, unknown] = Object.hasOwn(known, LOST) ? [[], unpinned] : [unpinned, []];
  const pinned = tools.filter(({ name }) => Object.hasOwn(known, name));
  const outdated = pinned.filter((tool) => known[tool.name] === firstDigestOf(tool));
  const changed = pinned.filter((tool) => known[tool.name] !== toolDigest(tool) && !outdated.includes(tool));
  const notes = [];
  if (before && added.length > 0) notes.push(`The MCP server "${server}" has new tools: ${namesOf(added)}.`);
  try {
    // Tools that are not offered now stay pinned: they may come back changed.
    if (added.length + outdated.length > 0)
      write(home, { ...tree, [server]: { ...known, ...digestsOf([...added, ...outdated]) } });
  } catch (error) {
    const { message } = ExcursorError.from(error);
    notes.push(`Excursor may not notice later changes to the tools of the MCP server "${server}": ${message}`);
  }
  return { held: new Set([...changed, ...unknown].map(({ name }) => name)), notes };
}

/** Pins these tools of a server as they are now. */
export function pinTools(home: string, server: string, tools: readonly ServerTool[]): void {
  const { tree } = readPins(home);
  const before = pinsOf(tree, server);
  write(home, { ...tree, [server]: { ...(before === "lost" ? { [LOST]: "" } : before), ...digestsOf(tools) } });
}

/** Deletes the pins of a server, because another server may get the same name. */
export function forgetTools(home: string, server: string): void {
  const { tree } = readPins(home);
  const { [server]: pinned, ...others } = tree;
  // Without an entry, the server's pins would count as lost.
  if (Object.hasOwn(tree, LOST)) write(home, { ...others, [server]: {} });
  else if (pinned !== undefined) write(home, others);
}

/**
 * Marks a damaged file or entry, in which servers or tools without a pin are not new: their pins may be lost. The mark
 * stays when the first of them is approved, so that the others are still held back. No server and no tool has this
 * name.
 */
const LOST = "";

function readPins(home: string): { readonly tree: Tree; readonly damage?: string } {
  try {
    return { tree: readTree(pinsFile(home)) };
  } catch (error) {
    const { message } = ExcursorError.from(error);
    return {
      tree: { [LOST]: "This file was damaged. Servers that are missing here have to be approved." },
      damage: message,
    };
  }
}

function lostNotes(server: string, tools: readonly ServerTool[], damage: string | undefined): readonly string[] {
  if (tools.length === 0) return [];
  const reason = damage ?? "the file with the approvals (mcp-tools.json) was damaged.";
  return [
    `Excursor cannot tell whether the MCP server "${server}" has changed its tools: ${reason} Its tools are not offered. Review and approve them: excursor mcp approve ${server}`,
  ];
}

const namesOf = (tools: readonly ServerTool[]): string => tools.map(({ name }) => name).join(", ");

type Pins = Readonly<Record<string, string>>;

function pinsOf(tree: Tree, server: string): Pins | "lost" | undefined {
  if (!Object.hasOwn(tree, server)) return Object.hasOwn(tree, LOST) ? "lost" : undefined;
  const pins = tree[server];
  return isJsonObject(pins) ? (pins as Pins) : "lost";
}

function write(home: string, tree: Tree): void {
  openHome(home);
  writePrivate(pinsFile(home), `${JSON.stringify(tree, null, 2)}\n`);
}

const digestsOf = (tools: readonly ServerTool[]): Pins =>
  Object.fromEntries(tools.map((tool) => [tool.name, toolDigest(tool)]));

/** Returns the digest of everything that a model or a client sees. The number is the version of the pin. */
export const toolDigest = ({ description, schema, annotations, extras }: ServerTool): string =>
  `2:${digest([description, schema, annotations ?? null, extras ?? null])}`;

/** The first version of the pin, without a number. Replaced when the tool is seen unchanged. */
const firstDigestOf = ({ description, schema }: ServerTool): string => digest([description, schema]);

const digest = (parts: readonly unknown[]): string => hash("sha256", JSON.stringify(parts), "base64url").slice(0, 22);
