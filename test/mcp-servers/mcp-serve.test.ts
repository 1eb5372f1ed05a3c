import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { excursor } from "../cli/support/excursor.ts";
import { RawConnection } from "../server/support/raw.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const SERVER = here("../mcp/support/scripted-server.ts");
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

function newClient(mode: "legacy" | "auto" = "legacy", onChanged?: () => void): Client {
  const client = new Client(
    { name: "test", version: "1" },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode },
      ...(onChanged && { listChanged: { tools: { autoRefresh: false, onChanged } } }),
    },
  );
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada" } }));
  clients.push(client);
  return client;
}

const textOf = (result: { content: readonly object[] }) =>
  result.content.map((part) => ("text" in part ? part.text : "")).join("");

const RICH = {
  name: "measure",
  title: "Measure it",
  description: "measures",
  inputSchema: { type: "object" },
  outputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  annotations: { readOnlyHint: true },
  icons: [{ src: "data:image/png;base64,AA" }],
  _meta: { "x.example/b": 2 },
};

/** Connects a client over the transport to a server with these tools. */
async function serve(transport: "stdio" | "http", mode: "legacy" | "auto", tools: readonly object[], given?: Client) {
  const args = [SERVER, JSON.stringify({ tools })];
  const mcpServers = { srv: { command: process.execPath, args } };
  writeFileSync(join(home, "mcp.json"), JSON.stringify({ mcpServers }), { mode: 0o600 });
  /** The names of the tools, as of the last time that the server told of a change. */
  let changed: readonly string[] = [];
  const onChanged = async () => {
    changed = (await client.listTools()).tools.map(({ name }) => name);
  };
  const client: Client = given ?? newClient(mode, () => void onChanged().catch(() => {}));
  if (transport === "stdio") {
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [here("../../bin/excursor.js"), "mcp", "serve"],
        env: { EXCURSOR_HOME: home },
        stderr: "ignore",
      }),
    );
    return { client, url: undefined, changed: () => changed };
  }
  const { firstLine, child } = excursor(["mcp", "serve", "--port", "0"], {
    environment: { EXCURSOR_HOME: home, EXCURSOR_KEY: KEY },
  });
  onTestFinished(() => void child.kill("SIGTERM"));
  const url = new URL((await firstLine()).replace("ready ", ""));
  const requestInit = { headers: { authorization: `Bearer ${KEY}` } };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }));
  return { client, url, changed: () => changed };
}

const plain = (name: string) => ({ name, description: name, inputSchema: { type: "object" } });

const WAYS = [
  ["stdio", "legacy"],
  ["stdio", "auto"],
  ["http", "legacy"],
  ["http", "auto"],
] as const;

describe.each(WAYS)("the hub over %s, %s", { timeout: 30_000 }, (transport, mode) => {
  it("passes on all that a server says of its tools, and all that they give back", async () => {
    const { client } = await serve(transport, mode, [RICH]);
    expect(client.getProtocolEra()).toBe(mode === "auto" ? "modern" : "legacy");
    expect((await client.listTools()).tools).toEqual([{ ...RICH, name: "srv__measure" }]);
    expect(await client.callTool({ name: "srv__measure", arguments: {} })).toMatchObject({
      content: [{ type: "text", text: '{"n":1}' }],
      structuredContent: { n: 1 },
      _meta: { "x.example/a": 1 },
    });
  });

  it("asks the client what a tool asks, and tells it of changes", async () => {
    const { client, changed } = await serve(transport, mode, [plain("ask"), plain("grow")]);
    await client.listTools();
    const asked = await client.callTool({ name: "srv__ask", arguments: {} });
    expect(JSON.parse(textOf(asked))).toEqual({ action: "accept", content: { name: "Ada" } });
    await client.callTool({ name: "srv__grow", arguments: {} });
    await expect.poll(changed, { timeout: 10_000 }).toContain("srv__grown");
  });

  it("declines for a client that cannot ask", async () => {
    const silent = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    clients.push(silent);
    const { client } = await serve(transport, mode, [plain("ask")], silent);
    const asked = await client.callTool({ name: "srv__ask", arguments: {} });
    expect(JSON.parse(textOf(asked))).toEqual({ action: "decline" });
  });
});

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
      const { firstLine, child, exited } = excursor(["mcp", "serve", "--port", "0"], { environment });
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
      const lines = (await exited).stderr.split("\n").filter((line) => line.includes("hub tool call"));
      const ends = lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "finished");
      expect(ends).toMatchObject([
        { principal: "owner", tool: "srv__echo", server: "srv", serverTool: "echo", outcome: "ok", bytes: 36 },
        { tool: "srv__environment", outcome: "refused" },
      ]);
    },
  );

  it("a session is for whoever began it (SEC-30)", async () => {
    const { client, url } = await serve("http", "legacy", [plain("echo")]);
    const environment = { EXCURSOR_HOME: home, EXCURSOR_KEY: KEY };
    const other = (await excursor(["keys", "add", "other"], { environment }).exited).stdout.trim();
    const sessionId = (client.transport as StreamableHTTPClientTransport).sessionId ?? "";
    expect(sessionId).not.toBe("");
    const list = (key: string, session: string) =>
      fetch(url ?? "", {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-session-id": session,
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
      }).then(({ status }) => status);
    expect(await list(KEY, sessionId)).toBe(200);
    expect(await list(other, sessionId)).toBe(404);
    expect(await list(KEY, "made-up")).toBe(404);
  });

  it("over HTTP, a key has as many requests under way as at the gateway (SEC-36)", async () => {
    const { firstLine, child } = excursor(["mcp", "serve", "--port", "0"], {
      environment: { EXCURSOR_HOME: home, EXCURSOR_KEY: KEY, EXCURSOR_LIMITS_REQUESTS_PER_KEY: "2" },
    });
    onTestFinished(() => void child.kill("SIGTERM"));
    const port = Number(new URL((await firstLine()).replace("ready ", "")).port);
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nauthorization: Bearer ${KEY}\r\ncontent-type: application/json\r\n`;
    const begin = () => new RawConnection(port).send(`${head}expect: 100-continue\r\ncontent-length: 10\r\n\r\n`);
    const held = [begin(), begin()];
    for (const one of held) expect(await one.until("\r\n")).toMatch(/^HTTP\/1\.1 100/);
    expect(await begin().until("too_many_concurrent")).toMatch(/^HTTP\/1\.1 429/);
    held[0]?.socket.destroy();
    const isLetIn = async () => expect(await begin().until("\r\n")).toMatch(/^HTTP\/1\.1 100/);
    await vi.waitFor(isLetIn, 10_000);
  });

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
    expect([code, stderr]).toEqual([78, expect.stringContaining("No MCP server is configured.")]);
  });
});
