import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The body of a response that has begun, one chunk of the transfer a write. Node would write a chunk in four pieces
 * (length, line end, text, line end) that its socket puts together again; in one piece the write of a token costs
 * half (bench/README.md). Whatever is not that plain stays Node's, such as HTTP/1.0, which has no chunks.
 *
 * False when the reader is behind; see {@link isBehind}.
 */
export function writeChunk(response: ServerResponse, text: string): boolean {
  const socket = plainSocket(response);
  return socket ? send(socket, text) : response.write(text);
}

/** The last words of a body, in one write with its end. */
export function endBody(response: ServerResponse, text: string): void {
  const socket = text === "" ? undefined : plainSocket(response);
  if (!socket) {
    response.end(text);
    return;
  }
  send(socket, text, LAST_CHUNK);
  // Or Node would write the last chunk as well.
  response.chunkedEncoding = false;
  response.end();
}

/** Whether there is something that the reader has yet to take; its `drain` comes from the socket or the response. */
export function isBehind(response: ServerResponse): boolean {
  return response.writableNeedDrain || response.socket?.writableNeedDrain === true;
}

const LAST_CHUNK = "0\r\n\r\n";

function send(socket: Socket, text: string, next = ""): boolean {
  const bytes = Buffer.byteLength(text);
  // What is a byte a letter anyway is cheaper so: Node need not make room for three.
  const encoding = bytes === text.length ? "latin1" : "utf8";
  return socket.write(`${bytes.toString(16)}\r\n${text}\r\n${next}`, encoding);
}

/** Where what follows on the wire is the next chunk of this response: nothing of it waits inside Node. */
function plainSocket(response: ServerResponse): Socket | undefined {
  const { socket } = response;
  return response.headersSent && response.chunkedEncoding && socket?.writable ? socket : undefined;
}
