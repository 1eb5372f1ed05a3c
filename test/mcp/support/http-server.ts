import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly name?: string; readonly arguments?: object; readonly protocolVersion?: string };
}

export interface FakeServer {
  readonly url: string;
  /** How often it was asked to begin. */
  readonly handshakes: () => number;
  /** Every tool call that it really made. */
  readonly calls: () => number;
  /** What the last request had in its headers. */
  readonly headers: () => IncomingMessage["headers"];
  stop(): void;
  /** Forgets every session, as a restart would. */
  forget(): void;
}

interface FakeOptions {
  /** What a request with an unknown session gets. */
  readonly staleStatus?: number;
  readonly staleText?: string;
  /** Refuses everything with this. */
  readonly status?: number;
  /** Knows only the older transport. */
  readonly isSse?: boolean;
}

/** An MCP server over HTTP, of the older era, with sessions, without any SDK. */
export async function startFakeServer(options: FakeOptions = {}): Promise<FakeServer> {
  const { staleStatus = 404, staleText = "Session not found" } = options;
  const sessions = new Set<string>();
  const streams = new Map<string, ServerResponse>();
  let [handshakes, calls] = [0, 0];
  let headers: IncomingMessage["headers"] = {};

  const answer = ({ id, method, params }: Message): object => {
    const reply = (result: object) => ({ jsonrpc: "2.0", id, result });
    if (method === "initialize") {
      handshakes++;
      const { protocolVersion } = params ?? {};
      return reply({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "fake", version: "1" } });
    }
    if (method === "tools/list") return reply({ tools: [{ name: "echo", inputSchema: { type: "object" } }] });
    if (method !== "tools/call") return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
    calls++;
    const text = params?.name === "huge" ? "x".repeat(20_000_000) : JSON.stringify(params?.arguments);
    return reply({ content: [{ type: "text", text }] });
  };

  const onPost = async (request: IncomingMessage, response: ServerResponse) => {
    const message = (await json(request)) as Message;
    const known = request.headers["mcp-session-id"];
    const isBeginning = message.method === "initialize";
    if (!isBeginning && (typeof known !== "string" || !sessions.has(known))) {
      response.writeHead(known === undefined ? 400 : staleStatus).end(staleText);
      return;
    }
    if (message.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const session = isBeginning ? randomUUID() : String(known);
    sessions.add(session);
    response.writeHead(200, { "content-type": "application/json", "mcp-session-id": session });
    response.end(JSON.stringify(answer(message)));
  };

  const onSse = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
    if (request.method === "GET" && pathname === "/mcp") {
      const session = randomUUID();
      streams.set(session, response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: /messages?session=${session}\n\n`);
      return;
    }
    const stream = streams.get(searchParams.get("session") ?? "");
    if (request.method !== "POST" || !stream) {
      response.writeHead(404).end();
      return;
    }
    const message = (await json(request)) as Message;
    response.writeHead(202).end();
    if (message.id !== undefined) stream.write(`event: message\ndata: ${JSON.stringify(answer(message))}\n\n`);
  };

  const server = createServer((request, response) => {
    headers = request.headers;
    if (options.status !== undefined) response.writeHead(options.status).end("no");
    else if (options.isSse) void onSse(request, response);
    else if (request.method === "POST") void onPost(request, response);
    else response.writeHead(405).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    handshakes: () => handshakes,
    calls: () => calls,
    headers: () => headers,
    stop,
    forget: () => {
      sessions.clear();
      for (const stream of streams.values()) stream.destroy();
      streams.clear();
    },
  };
}
