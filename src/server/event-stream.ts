import type { Limits } from "../config/limits.ts";
import type { StreamRenderer } from "../faces/shared/face.ts";
import type { GatewayExchange } from "./gateway-exchange.ts";
import type { Probe } from "./watch-client.ts";

export type StreamForm = Pick<StreamRenderer, "keepAlive" | "contentType">;

const COMMENT = ": keep-alive\n\n";

/**
 * A streamed response. The headers go out with the first event or the first keep-alive; until then an error can still
 * have its own status.
 */
export class EventStream implements Probe {
  /** True for server-sent events, where clients ignore comments. */
  readonly hasComments: boolean;
  readonly #exchange: GatewayExchange;
  readonly #limits: Limits;
  readonly #headers: () => Readonly<Record<string, string>>;
  readonly #contentType: string;
  readonly #keepAlive: string | Uint8Array | undefined;
  readonly #silence: NodeJS.Timeout;

  constructor(
    exchange: GatewayExchange,
    limits: Limits,
    /** Called when the headers are sent. */
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

  /** Returns false if the client reads too slowly; await {@link drained} before the next write. */
  write(piece: string | Uint8Array): boolean {
    this.#silence.refresh();
    if (!this.hasBegun) this.#begin();
    return this.#exchange.response.write(piece);
  }

  /** Resolves when the client has caught up or disconnected. A stalled client is disconnected. */
  drained(): Promise<void> {
    const { response, request } = this.#exchange;
    const { socket } = request;
    return new Promise((resolve) => {
      if (response.destroyed || !response.writableNeedDrain) {
        resolve();
        return;
      }
      // The timeout destroys the socket; every byte that leaves it restarts the timeout.
      socket.setTimeout(this.#limits.stalledReaderMs);
      const goOn = () => {
        socket.setTimeout(0);
        response.off("drain", goOn).off("close", goOn);
        resolve();
      };
      response.on("drain", goOn).on("close", goOn);
    });
  }

  /** Stops the keep-alives. */
  stop(): void {
    clearInterval(this.#silence);
  }

  end(piece: string | Uint8Array = ""): void {
    this.stop();
    const { response, request } = this.#exchange;
    if (response.destroyed) return;
    if (!this.hasBegun) this.#begin();
    response.end(piece);
    // Bounds how long unread data may wait. The next request on this connection resets the timeout.
    if (response.writableLength > 0) request.socket.setTimeout(this.#limits.stalledReaderMs);
  }

  /** Writes the keep-alive of the dialect, if it has one. */
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
