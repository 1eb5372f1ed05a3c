import { createHomeLock } from "../../config/home-lock.ts";
import { ExcursorError } from "../../core/errors.ts";
import { writePrivate } from "../../files/write-private.ts";
import { approvalsFile, ownFile, readTree, type Tree, type UnapprovedServer } from "./server-files.ts";

/** Servers by name, as a file has them. Validated when they are read. */
export type ServerEntries = Readonly<Record<string, unknown>>;

/** Adds servers to the user's own file. Replaces existing ones only if `replaces` is set. */
export function addServers(home: string, entries: ServerEntries, { replaces }: { replaces: boolean }): Promise<void> {
  return change(home, ownFile(home), (tree) => {
    const known = serversIn(tree);
    const taken = Object.keys(entries).find((name) => Object.hasOwn(known, name));
    if (taken !== undefined && !replaces) {
      throw new ExcursorError("mcp_server_exists", [taken, taken]);
    }
    return { ...tree, mcpServers: { ...known, ...entries } };
  });
}

export function removeServer(home: string, name: string): Promise<void> {
  return change(home, ownFile(home), (tree) => {
    const { [name]: found, ...others } = serversIn(tree);
    if (found === undefined) throw unknownServer(name, Object.keys(others));
    return { ...tree, mcpServers: others };
  });
}

export function approveServers(home: string, servers: readonly UnapprovedServer[]): Promise<void> {
  const approved = servers.map(({ digest, server: { name, origin } }) => [digest, { name, origin }] as const);
  return change(home, approvalsFile(home), (tree) => ({ ...tree, ...Object.fromEntries(approved) }));
}

export function unknownServer(name: string, known: readonly string[]): ExcursorError {
  const others = known.length === 0 ? "no server is configured" : `known servers: ${known.join(", ")}`;
  return new ExcursorError("mcp_unknown_server", [name, others], { hint: null });
}

/** Returns the servers in a file of the same format, such as Cursor's own. */
export const serversIn = ({ mcpServers }: Tree): ServerEntries =>
  typeof mcpServers === "object" && mcpServers !== null ? (mcpServers as ServerEntries) : {};

async function change(home: string, path: string, edit: (tree: Tree) => Tree): Promise<void> {
  await createHomeLock(home, "mcp.lock").run(() => {
    writePrivate(path, `${JSON.stringify(edit(readTree(path)), null, 2)}\n`);
  });
}
