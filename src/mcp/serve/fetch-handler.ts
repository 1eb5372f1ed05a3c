import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { unlessGone } from "../../core/ignored-failures.ts";

export type FetchHandler = (request: Request) => Promise<Response>;

/**
 * Runs a web-standard handler for a Node request. Aborts it when the client disconnects. The handler gets no body: the
 * caller reads that, with its own limits.
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
  // The gate has already checked the host. This one only completes the URL.
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
  await unlessGone(pipeline(Readable.fromWeb(answer.body as never), response));
}
