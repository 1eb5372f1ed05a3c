import { constants, type Http2Session } from "node:http2";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";

/** Totals over all watched HTTP/2 connections, closed ones included. */
export interface ResetStats {
  readonly connections: number;
  readonly resets: number;
  readonly mostResets: number;
  /** Connections that were closed for too many resets. */
  readonly connectionsCut: number;
}

const PREFACE_BYTES = 24;
const FRAME_HEADER_BYTES = 9;
const RST_STREAM = 3;

/**
 * Counts the RST_STREAM frames of clients, by connection, and closes a connection that sends too many. It parses the
 * bytes itself, because Node does not report a reset after the end of a response.
 */
export class ResetCounter {
  readonly #maxResets: number;
  #connections = 0;
  #resets = 0;
  #mostResets = 0;
  #connectionsCut = 0;

  constructor(maxResets: number) {
    this.#maxResets = maxResets;
  }

  stats(): ResetStats {
    return {
      connections: this.#connections,
      resets: this.#resets,
      mostResets: this.#mostResets,
      connectionsCut: this.#connectionsCut,
    };
  }

  /** Returns the stream to use as the HTTP/2 connection. */
  watch(socket: Socket, sessionOf: () => Http2Session | undefined): Duplex {
    this.#connections++;
    let count = 0;
    return tapFrames(socket, (type) => {
      if (type !== RST_STREAM) return;
      this.#resets++;
      this.#mostResets = Math.max(this.#mostResets, ++count);
      if (count !== this.#maxResets + 1) return;
      this.#connectionsCut++;
      const session = sessionOf();
      session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      session?.destroy();
    });
  }
}

/** Returns the same connection, and calls `onFrame` with the type of every incoming HTTP/2 frame. */
function tapFrames(socket: Socket, onFrame: (type: number) => void): Duplex {
  let skip = PREFACE_BYTES;
  const header = Buffer.alloc(FRAME_HEADER_BYTES);
  let filled = 0;
  const parse = (chunk: Buffer) => {
    for (let at = 0; at < chunk.length; ) {
      if (skip > 0) {
        const step = Math.min(skip, chunk.length - at);
        skip -= step;
        at += step;
        continue;
      }
      const copied = chunk.copy(header, filled, at);
      filled += copied;
      at += copied;
      if (filled < FRAME_HEADER_BYTES) return;
      filled = 0;
      skip = header.readUIntBE(0, 3);
      onFrame(header.readUInt8(3));
    }
  };
  const tapped = new Duplex({
    read: () => socket.resume(),
    write: (chunk, _encoding, done) => socket.write(chunk, done),
    final: (done) => socket.end(done),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (chunk: Buffer) => {
    parse(chunk);
    if (!tapped.push(chunk)) socket.pause();
  });
  socket.on("end", () => tapped.push(null)).on("close", () => tapped.destroy());
  return tapped;
}
