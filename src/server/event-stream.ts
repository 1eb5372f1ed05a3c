import type { Limits } from "../config/settings.ts";
import type { StreamRenderer } from "../faces/shared/face.ts";
import type { Exchange } from "./exchange.ts";
import type { Probe } from "./watch-client.ts";

type StreamForm = Pick<StreamRenderer, "keepAlive" | "contentType">;

/** A line that clients of server-sent events pass over. */
const COMMENT = ": keep-alive\n\n";

/**
 * A streamed answer on its way out. Its headers go with the first text, or with the first comment after a silence:
 * until then nothing is committed and an error can still have a status.
 */
export class EventStream implements Probe {
  /** Whether it is a stream of server-sent events, in which clients pass over comments. */
  readonly hasComments: boolean;
  readonly #exchange: Exchange;
  readonly #limits: Limits;
  readonly #headers: () => Readonly<Record<string, string>>;
  readonly #contentType: string;
  readonly #keepAlive: string | Uint8Array | undefined;
  readonly #silence: NodeJS.Timeout;

  constructor(
    exchange: Exchange,
    limits: Limits,
    /** Asked for when they go out. */
    headers: () => Readonly<Record<string, string>>,
    { keepAlive, contentType }: StreamForm,
  ) {
    this.#exchange = exchange;
    this.#limits = limits;
    this.#headers = headers;
    this.hasComments = contentType === undefined;
    this.#contentType = contentType ?? "text/event-stream; charset=utf-8";
    this.#keepAlive = keepAlive ?? (this.hasComments ? COMMENT : undefined);
    this.#silence = setInterval(() => this.stayAlive(), limits.keepAliveMs);
    exchange.probe = this;
  }

  get hasBegun(): boolean {
    return this.#exchange.response.headersSent;
  }

  /** False when the reader is behind: wait for {@link drained} before there is more. */
  write(piece: string | Uint8Array): boolean {
    this.#silence.refresh();
    if (!this.hasBegun) this.#begin();
    return this.#exchange.response.write(piece);
  }

  /** Resolves when the reader has caught up or is gone; one that takes nothing for too long is dropped. */
  drained(): Promise<void> {
    const { response, request } = this.#exchange;
    const { socket } = request;
    return new Promise((resolve) => {
      if (response.destroyed || !response.writableNeedDrain) {
        resolve();
        return;
      }
      // A socket that times out is destroyed; bytes that leave it begin the time anew.
      socket.setTimeout(this.#limits.stalledReaderMs);
      const goOn = () => {
        socket.setTimeout(0);
        response.off("drain", goOn).off("close", goOn);
        resolve();
      };
      response.on("drain", goOn).on("close", goOn);
    });
  }

  /** Says nothing more by itself. */
  stop(): void {
    clearInterval(this.#silence);
  }

  end(piece: string | Uint8Array = ""): void {
    this.stop();
    const { response, request } = this.#exchange;
    if (response.destroyed) return;
    if (!this.hasBegun) this.#begin();
    response.end(piece);
    // What still waits for the reader must not wait for ever; the next request on this connection resets the time.
    if (response.writableLength > 0) request.socket.setTimeout(this.#limits.stalledReaderMs);
  }

  /** Writes something that means nothing, if the dialect has such a thing. */
  stayAlive(): void {
    const { response } = this.#exchange;
    if (this.#keepAlive === undefined || response.writableEnded || response.destroyed || response.writableNeedDrain)
      return;
    this.write(this.#keepAlive);
  }

  #begin(): void {
    this.#exchange.response.writeHead(200, {
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...this.#exchange.commonHeaders(),
      "content-type": this.#contentType,
      ...this.#headers(),
    });
  }
}
