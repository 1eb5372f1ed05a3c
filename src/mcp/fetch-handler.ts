import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

export type FetchHandler = (request: Request) => Promise<Response>;

/**
 * Has a web-standard handler answer a request of Node's. It is aborted when the client leaves. The handler gets no body: the
 * caller reads that, within limits of its own.
 */
export async function answerByFetch(
  request: IncomingMessage,
  response: ServerResponse,
  handler: FetchHandler,
): Promise<void> {
  const { method = "GET", url = "/", rawHeaders } = request;
  const headers = new Headers();
  for (let index = 0; index < rawHeaders.length; index += 2)
    headers.append(rawHeaders[index] ?? "", rawHeaders[index + 1] ?? "");
  const left = new AbortController();
  response.once("close", () => left.abort());
  // The host is the gate's to judge; here it only makes the address a whole one.
  const answer = await handler(
    new Request(new URL(url, "http://localhost"), {
      method,
      headers,
      signal: left.signal,
    }),
  );
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) {
    response.end();
    return;
  }
  response.flushHeaders();
  await pipeline(Readable.fromWeb(answer.body as never), response).catch(() => {});
}
