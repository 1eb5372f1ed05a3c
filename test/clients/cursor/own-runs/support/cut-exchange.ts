import type { ServerResponse } from "node:http";
import { constants } from "node:http2";
import { ServerExchange } from "../../../../../src/wire/http/server-exchange.ts";

/** An exchange whose answer can break off: everything before one frame arrives, that frame and all later ones are lost. */
export class CutExchange extends ServerExchange {
  /** Frames of the answer so far, the lost ones included. */
  frames = 0;
  /** The first frame that is lost, counted from 1. */
  cutAt = Number.POSITIVE_INFINITY;
  #delivered: Promise<unknown> = Promise.resolve();

  get isCut(): boolean {
    return this.frames >= this.cutAt;
  }

  override write(chunk: Uint8Array): boolean {
    if (this.isOver) return true;
    this.frames++;
    if (this.isCut) {
      if (this.frames === this.cutAt) void this.#delivered.then(() => this.reset(constants.NGHTTP2_INTERNAL_ERROR));
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#delivered = promise;
    return (this.response as ServerResponse).write(chunk, resolve);
  }

  override end(chunk?: Uint8Array): void {
    if (chunk && !this.isCut) this.write(chunk);
    if (!this.isCut) super.end();
  }
}
