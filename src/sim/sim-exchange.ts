import type { OutgoingHttpHeaders } from "node:http";
import { constants } from "node:http2";
import { ExcursorError } from "../core/errors.ts";
import { ConnectFailure } from "../wire/connect/connect-failure.ts";
import { type HttpVersion, ServerExchange } from "../wire/http/server-exchange.ts";

export type Transport = HttpVersion;

/** One request to the simulated backend and its answer, with the ways in which an answer can go wrong. */
export class SimExchange extends ServerExchange {
  #isSplit = false;

  override async readBody(maxBytes: number): Promise<Buffer> {
    try {
      return await super.readBody(maxBytes);
    } catch (error) {
      if (!(error instanceof ExcursorError)) throw error;
      throw new ConnectFailure("resource_exhausted", error.message);
    }
  }

  override open(status: number, headers: OutgoingHttpHeaders): void {
    super.open(status, { "x-cursor-server-region": "simulated", ...headers });
  }

  override write(chunk: Uint8Array): boolean {
    if (!this.#isSplit) return super.write(chunk);
    let room = true;
    for (const byte of chunk) room = super.write(Uint8Array.of(byte));
    return room;
  }

  /** From now on every byte travels alone. */
  splitBytes(): void {
    this.#isSplit = true;
  }

  /** Resolves when the peer has (HTTP/2), or at least its kernel has, all that was written so far. */
  async delivered(): Promise<void> {
    const session = this.stream?.session;
    if (session && !session.destroyed) {
      // A PING is answered in turn, so its answer comes after everything before it was read.
      await new Promise<void>((resolve) => {
        const settle = () => {
          this.response.off("close", settle);
          resolve();
        };
        this.response.once("close", settle);
        if (!session.ping(settle)) settle();
      });
      return;
    }
    while (!this.isOver && (this.response.socket?.writableLength ?? 0) > 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Resolves when the client has closed its half of the stream. Over HTTP/1.1 that half says nothing: never. */
  halfClosed(): Promise<void> {
    const { request } = this;
    if (this.transport === "h1") return new Promise(() => {});
    return request.readableEnded ? Promise.resolve() : new Promise((resolve) => request.once("end", () => resolve()));
  }

  /** Ends the body here without its end; the connection lives on where the protocol has a way to say so. */
  truncate(): void {
    if (this.transport === "h2") this.response.end();
    else this.socket?.end();
  }

  /** Tells the peer to make no more requests on this connection; what is open goes on. */
  goaway(code: number = constants.NGHTTP2_NO_ERROR): void {
    const session = this.stream?.session;
    // Without a stream id it speaks of all there are: naming ours would disown those that came after it.
    session?.goaway(code);
    session?.close();
  }
}
