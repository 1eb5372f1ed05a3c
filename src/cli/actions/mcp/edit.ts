import { openServerLogins } from "../../../app/hub/open-server-logins.ts";
import { loadConfig } from "../../../app/load-config.ts";
import { ExcursorError } from "../../../core/errors.ts";
import { printable } from "../../../core/printable.ts";
import {
  addServers,
  approveServers,
  removeServer,
  serversIn,
  unknownServer,
} from "../../../mcp/servers/edit-servers.ts";
import { isUnpinned } from "../../../mcp/servers/package-versions.ts";
import { readServers, type ServerConfig } from "../../../mcp/servers/server-config.ts";
import {
  findServers,
  foreignFiles,
  ownFile,
  readTree,
  type ServerPlaces,
  type UnapprovedServer,
} from "../../../mcp/servers/server-files.ts";
import { targetOf } from "../../../mcp/servers/server-target.ts";
import type { ServerTool } from "../../../mcp/tools/tool-list.ts";
import { forgetTools, pinTools } from "../../../mcp/tools/tool-pins.ts";
import { serverPlaces, withHub } from "../../open-hub.ts";

interface AddFlags {
  readonly url?: string | undefined;
  readonly type?: "http" | "sse" | undefined;
  readonly header: readonly string[];
  readonly env: readonly string[];
  readonly cwd?: string | undefined;
  readonly force: boolean;
}

export async function runMcpAdd(name: string, command: readonly string[], flags: AddFlags): Promise<void> {
  const [program, ...args] = command;
  if (name.includes("/")) {
    throw new ExcursorError(
      "invalid-request",
      'The name of a server cannot contain "/", because tools are called as SERVER/TOOL.',
      {
        hint: `Choose another name, such as ${name.replaceAll("/", "-")}.`,
      },
    );
  }
  if ((program === undefined) === (flags.url === undefined)) {
    throw new ExcursorError("invalid-request", "Give either a program or a URL.", {
      hint: "Run: excursor mcp add NAME -- PROGRAM ARGUMENTS, or: excursor mcp add NAME --url URL",
    });
  }
  const entry =
    program === undefined
      ? { ...(flags.type && { type: flags.type }), url: flags.url, ...pairs("headers", flags.header, ":") }
      : { command: program, args, ...pairs("env", flags.env, "="), ...(flags.cwd && { cwd: flags.cwd }) };
  const { home, userHome, environment, project } = serverPlaces();
  const { problems } = readServers({ [name]: entry }, "new server", {
    environment,
    userHome,
    workspaceFolder: project,
  });
  if (problems.length > 0) throw new ExcursorError("invalid-request", problems.map(({ text }) => text).join("\n"));
  await addServers(home, { [name]: entry }, { replaces: flags.force });
  forgetTools(home, name);
  process.stderr.write(`Added. To list its tools: excursor mcp test ${name}\n`);
}

function pairs(key: string, given: readonly string[], separator: string): Readonly<Record<string, object>> {
  if (given.length === 0) return {};
  const entries = given.map((pair) => {
    const at = pair.indexOf(separator);
    if (at > 0) return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
    throw new ExcursorError(
      "invalid-request",
      `Expected NAME${separator}value, found ${JSON.stringify(pair.slice(0, 40))}.`,
    );
  });
  return { [key]: Object.fromEntries(entries) };
}

export async function runMcpRemove(name: string): Promise<void> {
  const { home } = serverPlaces();
  await removeServer(home, name);
  forgetTools(home, name);
  const { values } = loadConfig({ flags: {}, environment: process.env });
  const logins = openServerLogins(home, values, (text) => process.stderr.write(`${printable(text)}\n`));
  await logins.lock.run(() => logins.remove(name));
  process.stderr.write("Removed.\n");
}

export async function runMcpImport(
  names: readonly string[],
  { from }: { readonly from?: string | undefined },
): Promise<void> {
  const places = serverPlaces();
  const [usual = ""] = foreignFiles(places);
  const file = from ?? usual;
  const offered = serversIn(readTree(file));
  const known = serversIn(readTree(ownFile(places.home)));
  const missing = names.find((name) => !Object.hasOwn(offered, name));
  if (missing !== undefined) throw unknownServer(missing, Object.keys(offered));
  const wanted = names.length > 0 ? names : Object.keys(offered).filter((name) => !Object.hasOwn(known, name));
  if (wanted.length === 0) {
    process.stderr.write(`All servers of ${file} are already here.\n`);
    return;
  }
  const entries = Object.fromEntries(wanted.map((name) => [name, offered[name]]));
  await addServers(places.home, entries, { replaces: false });
  process.stdout.write(`${wanted.map(printable).join("\n")}\n`);
  process.stderr.write(`Imported ${wanted.length} from ${file}. To test them: excursor mcp list\n`);
}

/**
 * Approves servers of this folder, and tools that a server has changed. Without names, lists the servers and tools that need approval.
 */
export async function runMcpApprove(names: readonly string[]): Promise<void> {
  const places = serverPlaces();
  const { servers, unapproved } = findServers(places);
  const chosen = unapproved.filter(({ server }) => names.includes(server.name));
  const others = names.filter((name) => !chosen.some(({ server }) => server.name === name));
  const wanted = others.map((given) => toolsMeant(given, servers, unapproved));
  if (chosen.length > 0) await approveChosen(places, chosen);
  if (names.length > 0 && wanted.length === 0) return;
  const isShown = names.length === 0;
  for (const { server } of isShown ? unapproved : [])
    process.stdout.write(`${printable(`${server.name}: ${targetOf(server)}`)}\n`);
  const isMeant = (server: string, tool: string) =>
    isShown || wanted.some((one) => one.server === server && (one.tool === undefined || one.tool === tool));
  const found = await withHub(
    ({ servers: all }) => all.filter(({ name }) => isShown || wanted.some(({ server }) => server === name)),
    async (hub) => {
      await hub.connect();
      return hub.connections.flatMap(({ name: server, held, error }) => {
        if (error && !isShown) throw error;
        const tools = held.filter((tool) => isMeant(server, tool.name));
        return tools.length > 0 ? [{ server, tools }] : [];
      });
    },
  );
  for (const { server, tools } of found) {
    for (const tool of tools) process.stdout.write(`${printable(describe(server, tool))}\n`);
    if (!isShown) pinTools(places.home, server, tools);
  }
  const isNothing = found.length === 0 && (unapproved.length === 0 || !isShown);
  const advice = "Approve them by name: excursor mcp approve SERVER, or SERVER/TOOL for one changed tool";
  const done = "Approved. Any later change needs a new approval.";
  process.stderr.write(`${isNothing ? "Nothing needs approval." : isShown ? advice : done}\n`);
}

/** Returns what a name refers to that is no server of this folder: a server, or one of its tools. */
function toolsMeant(
  given: string,
  servers: readonly ServerConfig[],
  unapproved: readonly UnapprovedServer[],
): { readonly server: string; readonly tool: string | undefined } {
  if (servers.some(({ name }) => name === given)) return { server: given, tool: undefined };
  const server = servers.find(({ name }) => given.startsWith(`${name}/`));
  if (server) return { server: server.name, tool: given.slice(server.name.length + 1) };
  const known = [...servers, ...unapproved.map((one) => one.server)];
  throw unknownServer(
    given,
    known.map(({ name }) => name),
  );
}

function describe(server: string, { name, description, schema, annotations, extras }: ServerTool): string {
  const others = { ...(annotations && { annotations }), ...extras };
  const rest = Object.keys(others).length > 0 ? `\n  ${JSON.stringify(others)}` : "";
  return `${server}/${name}: ${description}\n  ${JSON.stringify(schema)}${rest}`;
}

async function approveChosen(places: ServerPlaces, chosen: readonly UnapprovedServer[]): Promise<void> {
  for (const { server } of chosen) {
    process.stderr.write(`${printable(`${server.name}: ${targetOf(server)}`)}\n`);
    if (server.type === "stdio" && isUnpinned([server.command, ...server.args], server.folder ?? places.project)) {
      process.stderr.write(
        `The command names no version, so it runs the newest one. Name a version to know what you approve.\n`,
      );
    }
  }
  await approveServers(places.home, chosen);
  process.stderr.write("Approved. Any later change needs a new approval.\n");
}
