import { loadConfig } from "../config/load-config.ts";
import { ExcursorError } from "../core/errors.ts";
import { addServers, approveServers, removeServer, serversIn, unknownServer } from "../tools/edit-servers.ts";
import { isUnpinned } from "../tools/package-versions.ts";
import { readServers } from "../tools/server-config.ts";
import { findServers, foreignFiles, ownFile, readTree } from "../tools/server-files.ts";
import { serverPlaces } from "./open-hub.ts";
import { openServerLogins } from "./open-server-logins.ts";
import { printable } from "./printable.ts";
import { targetOf } from "./run-mcp-list.ts";

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
  if ((program === undefined) === (flags.url === undefined)) {
    throw new ExcursorError("invalid-request", "A server is a program or an address, one of the two.", {
      hint: "excursor mcp add NAME -- PROGRAM ARGUMENTS, or excursor mcp add NAME --url URL",
    });
  }
  const entry =
    program === undefined
      ? { ...(flags.type && { type: flags.type }), url: flags.url, ...pairs("headers", flags.header, ":") }
      : { command: program, args, ...pairs("env", flags.env, "="), ...(flags.cwd && { cwd: flags.cwd }) };
  const { home, userHome, environment, project } = serverPlaces();
  const { problems } = readServers({ [name]: entry }, "it", { environment, userHome, workspaceFolder: project });
  if (problems.length > 0) throw new ExcursorError("invalid-request", problems.map(({ text }) => text).join("\n"));
  await addServers(home, { [name]: entry }, { replaces: flags.force });
  process.stderr.write(`Added. See what it offers: excursor mcp test ${name}\n`);
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
  const { values } = loadConfig({ flags: {}, environment: process.env });
  const logins = openServerLogins(home, values, (text) => process.stderr.write(`${text}\n`));
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
    process.stderr.write(`There is nothing in ${file} that is not here already.\n`);
    return;
  }
  const entries = Object.fromEntries(wanted.map((name) => [name, offered[name]]));
  await addServers(places.home, entries, { replaces: false });
  process.stdout.write(`${wanted.map(printable).join("\n")}\n`);
  process.stderr.write(`Imported ${wanted.length} from ${file}. See them at work: excursor mcp list\n`);
}

export async function runMcpApprove(names: readonly string[]): Promise<void> {
  const places = serverPlaces();
  const { unapproved } = findServers(places);
  if (names.length === 0) {
    for (const { server } of unapproved) process.stdout.write(`${printable(`${server.name}: ${targetOf(server)}`)}\n`);
    const advice =
      unapproved.length === 0 ? "Nothing waits for approval here." : "Approve by name: excursor mcp approve NAME";
    process.stderr.write(`${advice}\n`);
    return;
  }
  const missing = names.find((name) => !unapproved.some(({ server }) => server.name === name));
  if (missing !== undefined)
    throw unknownServer(
      missing,
      unapproved.map(({ server }) => server.name),
    );
  const chosen = unapproved.filter(({ server }) => names.includes(server.name));
  for (const { server } of chosen) {
    process.stderr.write(`${printable(`${server.name}: ${targetOf(server)}`)}\n`);
    if (server.type === "stdio" && isUnpinned([server.command, ...server.args], server.folder ?? places.project)) {
      process.stderr.write(`It names no version: whatever is newest is run. Name one to know what you approve.\n`);
    }
  }
  await approveServers(places.home, chosen);
  process.stderr.write("Approved, as they are now: any change has to be approved again.\n");
}
