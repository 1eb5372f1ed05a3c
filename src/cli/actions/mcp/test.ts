import { ExcursorError } from "../../../core/errors.ts";
import { jsonText, printable } from "../../../core/printable.ts";
import { unknownServer } from "../../../mcp/servers/edit-servers.ts";
import type { FoundServers } from "../../../mcp/servers/server-files.ts";
import { catalogueName } from "../../../mcp/tools/tool-catalogue.ts";
import { withHub } from "../../open-hub.ts";
import { formatTable } from "../../terminal/format-table.ts";
import { startSpinner } from "../../terminal/spinner.ts";

export async function runMcpTest(name: string, { json }: { readonly json: boolean }): Promise<void> {
  await withHub(
    ({ servers, problems }) => {
      const chosen = servers.filter((server) => server.name === name);
      if (chosen.length === 0 && !problems.some(({ server }) => server === name)) {
        throw unknownServer(
          name,
          servers.map((server) => server.name),
        );
      }
      return chosen.map((server) => ({ ...server, isDisabled: false }));
    },
    async (hub, found) => {
      const [connection] = hub.connections;
      if (!connection) throw new ExcursorError("config", textOf(name, found));
      const spinner = startSpinner();
      try {
        await connection.connect();
      } catch (error) {
        spinner.stop();
        process.stderr.write(printable(connection.stderr));
        throw error;
      }
      spinner.stop();
      const { transport, version, garbageLines } = connection.about;
      const tools = connection.tools.map((tool) => ({
        name: tool.name,
        offeredAs: catalogueName(name, tool.name),
        description: tool.description,
      }));
      if (json) {
        const { problems } = connection;
        const held = connection.held.map((tool) => tool.name);
        process.stdout.write(`${jsonText({ name, transport, version, tools, held, problems, garbageLines }, 2)}\n`);
        return;
      }
      const rows = tools.map((tool) => [tool.name, tool.offeredAs, firstLine(tool.description)]);
      process.stdout.write(formatTable(["TOOL", "OFFERED AS", "WHAT IT DOES"], rows));
      const notes = [`${version || name} over ${transport}, ${tools.length} tools.`, ...connection.problems];
      if (garbageLines > 0)
        notes.push(
          `The server wrote ${garbageLines} lines to stdout that are not MCP messages. It should write them to stderr.`,
        );
      process.stderr.write(`${notes.map(printable).join("\n")}\n`);
    },
  );
}

const textOf = (name: string, { problems }: FoundServers): string =>
  problems.flatMap(({ server, text }) => (server === name ? [text] : [])).join("\n");

const firstLine = (text: string): string => (text.split("\n", 1)[0] ?? "").slice(0, 100);
