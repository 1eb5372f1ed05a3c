import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { excursor } from "./support/excursor.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SERVER = here("../tools/support/scripted-server.ts");
const KEY = "exc_a-key-for-tests-only-0123456789";

let home = "";
const clients: Client[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "excursor-mcp-"));
  mkdirSync(home, { recursive: true });
  const mcpServers = { srv: { command: process.execPath, args: [SERVER] } };
  writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers, keys: { some: ["srv/echo"] } }), { mode: 0o600 });
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
  rmSync(home, { recursive: true });
});

function newClient(mode: "legacy" | "auto" = "legacy"): Client {
  const client = new Client(
    { name: "test", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
  clients.push(client);
  return client;
}

const textOf = (result: { content: readonly object[] }) =>
  result.content.map((part) => ("text" in part ? part.text : "")).join("");

describe("the hub as one MCP server", () => {
  it("on stdio: lists, calls, passes progress and questions on", async () => {
    const client = newClient();
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [here("../../bin/excursor.js"), "mcp", "serve"],
        env: { EXCURSOR_HOME: home },
        stderr: "ignore",
      }),
    );
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(14);
    expect(tools.map(({ name }) => name)).toContain("srv__echo");
    expect(textOf(await client.callTool({ name: "srv__echo", arguments: { a: 1 } }))).toBe('{"a":1}');
    const seen: number[] = [];
    await client.callTool({ name: "srv__slow", arguments: {} }, { onprogress: ({ progress }) => seen.push(progress) });
    expect(seen.slice(0, 2)).toEqual([1, 2]);
    expect(JSON.parse(textOf(await client.callTool({ name: "srv__ask", arguments: {} })))).toEqual({
      action: "accept",
      content: { name: "Ada" },
    });
    expect(await client.callTool({ name: "srv__exit", arguments: {} })).toMatchObject({ isError: true });
    expect(await client.callTool({ name: "nope", arguments: {} })).toMatchObject({ isError: true });
  });

  it.each(["legacy", "auto"] as const)(
    "over HTTP, to those that have a key, each with what it may use: %s",
    async (mode) => {
      const environment = { EXCURSOR_HOME: home, EXCURSOR_KEY: KEY };
      const { firstLine, child } = excursor(["mcp", "serve", "--port", "0"], { environment });
      const some = (await excursor(["keys", "add", "some"], { environment }).exited).stdout.trim();
      const url = (await firstLine()).replace("ready ", "");
      const connect = async (key: string) => {
        const client = newClient(mode);
        await client.connect(
          new StreamableHTTPClientTransport(new URL(url), {
            requestInit: { headers: { authorization: `Bearer ${key}` } },
          }),
        );
        return client;
      };
      const owner = await connect(KEY);
      expect((await owner.listTools()).tools).toHaveLength(14);
      expect(textOf(await owner.callTool({ name: "srv__echo", arguments: { a: 1 } }))).toBe('{"a":1}');
      const other = await connect(some);
      expect((await other.listTools()).tools.map(({ name }) => name)).toEqual(["srv__echo"]);
      expect(await other.callTool({ name: "srv__environment", arguments: {} })).toMatchObject({ isError: true });

      const post = (headers: Record<string, string>) =>
        fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: "{}" }).then(
          ({ status }) => status,
        );
      expect(await post({})).toBe(401);
      expect(await post({ authorization: "Bearer wrong" })).toBe(401);
      expect(await post({ authorization: `Bearer ${KEY}`, origin: "https://evil.example" })).toBe(403);
      expect(await post({ authorization: `Bearer ${KEY}`, "content-type": "text/plain" })).toBe(415);
      child.kill("SIGTERM");
    },
  );

  it("tells of servers that are taken away", async () => {
    const gone = Promise.withResolvers<void>();
    const client = newClient();
    client.setNotificationHandler("notifications/tools/list_changed", async () => {
      if ((await client.listTools()).tools.length === 0) gone.resolve();
    });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [here("../../bin/excursor.js"), "mcp", "serve"],
        env: { EXCURSOR_HOME: home },
        stderr: "ignore",
      }),
    );
    expect((await client.listTools()).tools).toHaveLength(14);
    writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers: {} }), { mode: 0o600 });
    await gone.promise;
  });

  it("ends when it cannot understand its client any more, and says why", async () => {
    const { code, stderr } = await excursor(["mcp", "serve"], {
      environment: { EXCURSOR_HOME: home, EXCURSOR_LIMITS_BODY_BYTES: "100000" },
      input: `garbage\n${"x".repeat(11 * 1024 * 1024)}\n`,
    }).exited;
    expect([code, stderr]).toEqual([0, expect.stringMatching(/"The client: .*exceeded/)]);
  });

  it("is nothing without servers", async () => {
    rmSync(join(home, "mcp.json"));
    const { code, stderr } = await excursor(["mcp", "serve"], { environment: { EXCURSOR_HOME: home } }).exited;
    expect([code, stderr]).toEqual([78, expect.stringContaining("No MCP server is set up.")]);
  });
});
