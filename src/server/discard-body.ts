import type { IncomingMessage, ServerResponse } from "node:http";
import type { Limits } from "../config/limits.ts";

/**
 * Reads and discards the rest of a refused body, up to the allowed size. Otherwise the client would see a broken
 * connection instead of the error.
 */
export function discardBody(request: IncomingMessage, response: ServerResponse, { bodyBytes }: Limits): void {
  // A client that sent `Expect` may or may not send the body now, so the connection cannot be reused.
  if (request.headers.expect !== undefined) response.shouldKeepAlive = false;
  let left = bodyBytes;
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.socket.destroy();
  });
}
