import { type IncomingHttpHeaders, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { Refusal } from "./refusal.ts";
import type { RequestHead } from "./routes/guess-face.ts";

/** An error of Node's HTTP parser, with the bytes that it was given last. */
export interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
}

/** Returns the refusal for a request that Node's parser does not accept. */
export function unreadable({ code }: ParserError): Refusal {
  if (code === "HPE_HEADER_OVERFLOW")
    return new Refusal(431, "headers_too_large", "The headers of the request are too large.", { kind: "too-large" });
  if (code === "HPE_CHUNK_EXTENSIONS_OVERFLOW") return new Refusal(413, "chunk_extensions_too_large");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Refusal(408, "request_timeout");
  return new Refusal(400, "bad_http");
}

/** Bytes that may tell the dialect. */
const MAX_HEAD_BYTES = 16 * 1024;

/** Returns what can be read of a damaged request: its target and its headers. */
export function readHead({ rawPacket }: ParserError): RequestHead {
  const head = rawPacket?.toString("latin1", 0, MAX_HEAD_BYTES).split("\r\n\r\n", 1)[0] ?? "";
  const [line = "", ...lines] = head.split(/\r?\n/);
  const headers: IncomingHttpHeaders = {};
  for (const text of lines) {
    const colon = text.indexOf(":");
    if (colon > 0) headers[text.slice(0, colon).toLowerCase()] = text.slice(colon + 1).trim();
  }
  return { url: line.split(" ")[1], headers };
}

/** Answers on a connection that has no response object, and closes it. */
export function answerRaw(socket: Socket, status: number, json: string): void {
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "connection: close",
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(json)}`,
  ];
  socket.on("error", () => {}).end([...head, "", json].join("\r\n"));
  socket.destroySoon();
}
