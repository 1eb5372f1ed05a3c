import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { answerByFetch } from "../../src/mcp/serve/fetch-handler.ts";
import { startFakeServer } from "./support/http-server.ts";
import { connectionTo, context, remote, textOf } from "./support/stage.ts";

describe("a server over HTTP", () => {
  it("is called with the headers of the settings", async () => {
    const server = await startFakeServer();
    const { connection } = connectionTo(remote(server.url));
    expect(textOf(await connection.call("echo", { a: 1 }, context))).toBe('{"a":1}');
    expect(server.headers().authorization).toBe("Bearer x");
    expect(connection.about.transport).toBe("http");
  });

  it.each([
    [404, "Session not found"],
    [400, "Bad Request: No valid session ID provided"],
  ])("a lost session is begun anew, once for all who wait, and each call made once: %i", async (status, text) => {
    const server = await startFakeServer({ staleStatus: status, staleText: text });
    const { connection } = connectionTo(remote(server.url));
    await connection.call("echo", {}, context);
    server.forget();
    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => connection.call("echo", { n }, context)));
    expect(results.map(textOf)).toEqual(Array.from({ length: 20 }, (_, n) => `{"n":${n}}`));
    expect([server.handshakes(), server.calls()]).toEqual([2, 21]);
  });

  it("another 400 is no lost session", async () => {
    const server = await startFakeServer({ staleStatus: 400, staleText: "bad arguments" });
    const { connection } = connectionTo(remote(server.url));
    await connection.call("echo", {}, context);
    server.forget();
    await expect(connection.call("echo", {}, context)).rejects.toMatchObject({
      code: "mcp_http_error",
      message: 'The MCP server "remote" answered the call of "echo" with 400.',
    });
    expect(server.handshakes()).toBe(1);
  });

  it("an older server is found by its event stream, and begun anew when that breaks", async () => {
    const server = await startFakeServer({ isSse: true });
    const { connection } = connectionTo(remote(server.url));
    expect(textOf(await connection.call("echo", { a: 1 }, context))).toBe('{"a":1}');
    expect([connection.about.transport, server.handshakes()]).toEqual(["sse", 1]);
    server.forget();
    await vi.waitFor(() => expect(server.handshakes()).toBe(2), 10_000);
    await vi.waitFor(
      async () => expect(textOf(await connection.call("echo", { b: 1 }, context))).toBe('{"b":1}'),
      5000,
    );
  });

  it("a transport that the settings name is the only one tried", async () => {
    const server = await startFakeServer({ isSse: true });
    const fixed = connectionTo(remote(server.url, { isFixed: true })).connection;
    await expect(fixed.connect()).rejects.toThrow('"remote" answered the handshake with 404');
    const older = connectionTo(remote(server.url, { type: "sse", isFixed: true })).connection;
    await older.connect();
    expect(older.about.transport).toBe("sse");
  });

  it.each([
    [401, "unauthenticated"],
    [403, "forbidden"],
    [500, "upstream-failed"],
  ])("%i is no reason to try another transport", async (status, kind) => {
    const { url } = await startFakeServer({ status });
    await expect(connectionTo(remote(url)).connection.connect()).rejects.toMatchObject({
      kind,
      message: expect.stringContaining(`"remote" answered`),
    });
  });

  it.each(["http", "sse"] as const)("what it is sent goes nowhere else, wherever it sends us: %s", async (type) => {
    const seen: (string | undefined)[] = [];
    const start = async (onRequest: (request: IncomingMessage, response: ServerResponse) => void) => {
      const server = createServer(onRequest).listen(0, "127.0.0.1");
      onTestFinished(() => void server.close());
      await once(server, "listening");
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    };
    const thief = await start(({ headers }, response) => {
      seen.push(headers.authorization);
      response.writeHead(404).end();
    });
    const url = await start((_, response) => response.writeHead(307, { location: `${thief}/mcp` }).end());
    const { connection } = connectionTo(remote(url, { type, isFixed: true }));
    await expect(connection.connect()).rejects.toMatchObject({
      message: 'The MCP server "remote" answered the handshake with 307.',
      hint: `If it has moved to ${thief}/mcp, set that URL in mcp.json.`,
    });
    expect(seen).toEqual([]);
  });

  it("one at a port that fetch refuses is told as that", async () => {
    const { connection } = connectionTo(remote("http://127.0.0.1:6000/mcp"));
    await expect(connection.connect()).rejects.toMatchObject({
      kind: "config",
      code: "bad_port",
      message: 'The MCP server "remote" uses a port that fetch blocks, as browsers do.',
    });
  });

  it("one that is not there is named", async () => {
    const { url, stop } = await startFakeServer();
    stop();
    const { connection } = connectionTo(remote(url));
    await expect(connection.connect()).rejects.toMatchObject({
      kind: "upstream-unavailable",
      message: 'The MCP server "remote" refused the connection: nothing listens at its address.',
    });
  });

  it.each([false, true])(
    "a result that is too large is an error that names it; over an event stream: %s",
    async (isSse) => {
      const server = await startFakeServer({ isSse });
      const { connection } = connectionTo(remote(server.url));
      await expect(connection.call("huge", {}, context)).rejects.toMatchObject({
        kind: "too-large",
        message: expect.stringContaining('"remote" sent a message of more than 8 MiB'),
      });
      await vi.waitFor(async () => expect(textOf(await connection.call("echo", {}, context))).toBe("{}"), 10_000);
    },
  );

  it("one of the newer era is spoken to in its words", async () => {
    const handler = createMcpHandler(
      () => {
        const server = new McpServer({ name: "modern", version: "2" });
        server.registerTool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
          content: [{ type: "text", text: String(a + b) }],
        }));
        return server;
      },
      { legacy: "reject" },
    );
    const server = createServer(async (request, response) => {
      const parsedBody = request.method === "POST" ? await json(request) : undefined;
      await answerByFetch(request, response, (asked) => handler.fetch(asked, { parsedBody }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { connection } = connectionTo(remote(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
    expect(textOf(await connection.call("add", { a: 1, b: 2 }, context))).toBe("3");
  });
});
