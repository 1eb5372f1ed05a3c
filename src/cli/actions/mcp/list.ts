import type { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import type { Hub } from "../../../mcp/hub.ts";
import { NEEDS_LOGIN } from "../../../mcp/oauth/errors.ts";
import { serversIn } from "../../../mcp/servers/edit-servers.ts";
import { type FoundServers, foreignFiles, readTree } from "../../../mcp/servers/server-files.ts";
import { targetOf } from "../../../mcp/servers/server-target.ts";
import { serverPlaces, withHub } from "../../open-hub.ts";
import { formatTable } from "../../terminal/format-table.ts";
import { startSpinner } from "../../terminal/spinner.ts";

interface ServerRow {
  readonly name: string;
  readonly state: string;
  readonly tools: number;
  readonly held: readonly string[];
  readonly target: string;
  readonly origin: string;
  readonly problems: readonly string[];
}

export async function runMcpList({ json }: { readonly json: boolean }): Promise<void> {
  await withHub(
    ({ servers }) => servers,
    async (hub, found, signal) => {
      const spinner = startSpinner();
      await hub.connect().finally(() => spinner.stop());
      signal.throwIfAborted();
      const rows = [...rowsOf(hub, found), ...unapprovedRows(found)];
      const problems = found.problems.map(({ text }) => text);
      process.stdout.write(json ? `${jsonText({ servers: rows, problems }, 2)}\n` : formatRows(rows));
      if (!json) process.stderr.write(notes(rows, problems, found));
    },
  );
}

function rowsOf(hub: Hub, { servers }: FoundServers): ServerRow[] {
  return servers.map((server) => {
    const connection = hub.connections.find(({ name }) => name === server.name);
    const { error } = connection ?? {};
    return {
      name: server.name,
      state: server.isDisabled ? "disabled" : error ? failureState(error) : (connection?.state ?? "idle"),
      tools: connection?.tools.length ?? 0,
      held: connection?.held.map(({ name }) => name) ?? [],
      target: targetOf(server),
      origin: server.origin,
      problems: [...(error ? [error.message] : []), ...(connection?.problems ?? [])],
    };
  });
}

const failureState = ({ code }: ExcursorError): string => (code === NEEDS_LOGIN ? "needs sign-in" : "failed");

const unapprovedRows = ({ unapproved }: FoundServers): ServerRow[] =>
  unapproved.map(({ server }) => ({
    name: server.name,
    state: "not approved",
    tools: 0,
    held: [],
    target: targetOf(server),
    origin: server.origin,
    problems: [],
  }));

const formatRows = (rows: readonly ServerRow[]): string =>
  formatTable(
    ["SERVER", "STATE", "TOOLS", "FROM", "RUNS"],
    rows.map(({ name, state, tools, held, target, origin }) => [
      name,
      state,
      state === "ready" ? countOf(tools, held.length) : "-",
      origin,
      target.slice(0, 80),
    ]),
  );

const countOf = (tools: number, held: number): string => (held === 0 ? String(tools) : `${tools} (${held} held)`);

function notes(rows: readonly ServerRow[], problems: readonly string[], { unapproved }: FoundServers): string {
  const lines = [...problems, ...rows.flatMap((row) => row.problems)].map(printable);
  if (unapproved.length > 0)
    lines.push("This folder configures servers that you have not approved. Run: excursor mcp approve");
  const known = new Set(rows.map(({ name }) => name));
  for (const file of foreignFiles(serverPlaces())) {
    const others = Object.keys(serversIn(readable(file))).filter((name) => !known.has(name));
    if (others.length > 0) lines.push(`${others.length} more in ${file}. Run: excursor mcp import`);
  }
  if (rows.length === 0) lines.push("No server is configured. See: excursor mcp add --help");
  return lines.map((line) => `${line}\n`).join("");
}

/** Reads another program's file. A broken one counts as empty. */
function readable(file: string): ReturnType<typeof readTree> {
  try {
    return readTree(file);
  } catch {
    return {};
  }
}
