import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent
  readonly body: any;
  /** The one who asked has gone. */
  readonly closed: Promise<void>;
}

export type Handler = (call: ApiCall, response: ServerResponse) => unknown;

export interface ApiServer {
  readonly url: string;
  /** What was asked with a body, in order. */
  readonly calls: ApiCall[];
}

/** A server of somebody else's API, which remembers what it was asked. */
export async function startApiServer(handle: Handler): Promise<ApiServer> {
  const calls: ApiCall[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const { method = "", url: path = "", headers } = request;
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    const call = { method, path, headers, body: text === "" ? undefined : JSON.parse(text), closed };
    if (method === "POST") calls.push(call);
    response.on("error", () => {});
    await handle(call, response);
  });
  onTestFinished(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}

export function replyJson(response: ServerResponse, status: number, body: object, headers: object = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** The whole stream, in pieces of so many bytes; whoever wants it to break gives less than the whole. */
export function replyStream(response: ServerResponse, text: string, pieceBytes = Number.POSITIVE_INFINITY): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) response.write(bytes.subarray(at, at + pieceBytes));
  response.end();
}
