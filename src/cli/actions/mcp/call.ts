import { text as readAll } from "node:stream/consumers";
import { ExcursorError } from "../../../core/errors.ts";
import type { HubProgress, HubResult } from "../../../core/hub/tool-hub.ts";
import { isJsonObject } from "../../../core/json/is-json-object.ts";
import { printable, printableJson } from "../../../core/printable.ts";
import type { JsonObject } from "../../../core/turn.ts";
import { catalogueName } from "../../../mcp/tools/tool-catalogue.ts";
import { exitCodeOf } from "../../exit-codes.ts";
import { withHub } from "../../open-hub.ts";
import { askOnTerminal } from "../../terminal/ask-on-terminal.ts";

const OWNER = { id: "owner", token: undefined };

export async function runMcpCall(tool: string, given: string, { json }: { readonly json: boolean }): Promise<void> {
  const args = parseArguments(given === "-" ? await readAll(process.stdin) : given);
  await withHub(
    // Starts only the server that the name refers to, if that is clear.
    ({ servers }) => {
      const named = servers.filter(({ name }) => tool.startsWith(`${name}/`) || tool.startsWith(`${name}__`));
      return named.length > 0 ? named : servers;
    },
    async (hub, _found, signal) => {
      await hub.connect();
      signal.throwIfAborted();
      const catalogue = hub.catalogueFor(OWNER);
      // A server's name may contain a slash.
      const names = hub.connections.filter(({ name }) => tool.startsWith(`${name}/`));
      const meant = names.map(({ name }) => catalogueName(name, tool.slice(name.length + 1)));
      const wanted = [tool, ...meant].find((name) => catalogue.has(name));
      if (wanted === undefined)
        throw unknownTool(
          tool,
          hub.connections.flatMap(({ error, problems }) => error?.message ?? problems),
        );
      const elicit = process.stdin.isTTY && given !== "-" ? askOnTerminal : undefined;
      const result = await hub.call(catalogue, wanted, args, { signal, onProgress: showProgress, elicit });
      process.stdout.write(json ? `${printableJson(JSON.stringify(result, withoutBytes, 2))}\n` : textOf(result));
      if (result.isError) process.exitCode = exitCodeOf("upstream-failed");
    },
  );
}

function parseArguments(given: string): JsonObject {
  try {
    const value: unknown = JSON.parse(given);
    if (isJsonObject(value)) return value;
  } catch {
    // Reported below.
  }
  throw new ExcursorError("invalid-request", "The arguments must be a JSON object.", {
    hint: `For example: excursor mcp call everything/echo '{"message":"hi"}'`,
  });
}

function unknownTool(tool: string, problems: readonly string[]): ExcursorError {
  return new ExcursorError("mcp_unknown_tool", [`The tool ${tool} does not exist.`, ...problems].join("\n"));
}

function showProgress({ done, total, message }: HubProgress): void {
  if (!process.stderr.isTTY) return;
  const share = total === undefined ? String(done) : `${done}/${total}`;
  process.stderr.write(`${printable([share, message].filter(Boolean).join(" "))}\n`);
}

const textOf = ({ content }: HubResult): string =>
  content
    .map((part) => (part.type === "text" ? printable(part.text) : `[${part.mediaType}, ${part.data.length} bytes]`))
    .map((text) => `${text}\n`)
    .join("");

const withoutBytes = (_key: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
