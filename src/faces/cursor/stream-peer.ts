import type { ExcursorError } from "../../core/errors.ts";
import type { Principal } from "../../core/turn.ts";
import { JSON_RUN } from "../../wire/agent/json-run.ts";
import { FrameWriter, streamFormat } from "../../wire/connect/frame-writer.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { failureOf } from "./errors.ts";
import type { RunPeer } from "./run-peer.ts";

/** True if the content type is not that of a run. Then the answer is that of the backend. */
export function refusesType(exchange: ServerExchange): boolean {
  if (exchange.hasResponded || streamFormat(exchange.header("content-type"))) return false;
  exchange.respond(415, "", { "accept-post": "application/connect+proto, application/connect+json" });
  return true;
}

type Listener = Parameters<RunPeer["listen"]>[0];

/** A run on the answer of one exchange. Where its client's messages come from is the carrier's to say. */
export class StreamPeer implements RunPeer {
  readonly requestId: string;
  readonly principal: Principal;
  readonly #exchange: ServerExchange;
  readonly #out: FrameWriter;
  readonly #onListen: (receive: (payload: Uint8Array) => void) => void;
  #listener: Listener | undefined;
  #isGone = false;
  #isOver = false;

  /** `onListen` is called when there is a listener, and starts the delivery of messages. */
  constructor(
    exchange: ServerExchange,
    run: { readonly requestId: string; readonly principal: Principal },
    onListen: (receive: (payload: Uint8Array) => void) => void,
  ) {
    this.requestId = run.requestId;
    this.principal = run.principal;
    this.#exchange = exchange;
    const format = streamFormat(exchange.header("content-type")) ?? "connect";
    this.#out = new FrameWriter(exchange, format, format === "connect-json" ? JSON_RUN.encode : undefined);
    this.#onListen = onListen;
    exchange.onOver((wasCut) => {
      if (!this.#isOver && wasCut) this.#gone();
    });
  }

  header(name: string): string | undefined {
    return this.#exchange.header(name.toLowerCase());
  }

  listen(listener: Listener): void {
    this.#listener = listener;
    if (this.#isGone) listener.gone();
    else
      this.#onListen((payload) => {
        if (!this.#isOver) listener.message(payload);
      });
  }

  send(payload: Uint8Array): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    this.#out.open();
    return this.#out.send(payload) ? undefined : this.#exchange.drained();
  }

  end(error?: ExcursorError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#out.end(error && failureOf(error));
  }

  /** Ends the run: sends the error to the client, and calls the listener's `gone`. */
  revoke(error: ExcursorError): void {
    if (this.#isOver) return;
    this.end(error);
    this.#gone();
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#isOver = true;
    this.#listener?.gone();
  }
}
