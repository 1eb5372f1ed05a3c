import type { HttpTransport } from "../http/http.ts";
import { type WireLimits, wireLimits } from "../limits.ts";
import { encodeFrame } from "./envelope.ts";
import { RunReader } from "./run-reader.ts";
import type { RunListener, RunStream } from "./run-stream.ts";

const RUN_PATH = "/agent.v1.AgentService/Run";

export interface BidiRunOptions {
  /** HTTP/2: the backend refuses this call on HTTP/1.1. */
  readonly transport: HttpTransport;
  readonly origin: string;
  /** Default: the agent's `Run`. */
  readonly path?: string;
  /** The headers of `callHeaders("run")`, with the request id. */
  readonly headers: Readonly<Record<string, string>>;
  readonly listener: RunListener;
  readonly limits?: Partial<WireLimits>;
}

/** A run as one bidirectional stream of frames. Cancelling resets the stream with CANCEL. */
export class BidiRun implements RunStream {
  readonly requestId: string;
  readonly #reader: RunReader;

  constructor({ transport, origin, path = RUN_PATH, headers, listener, limits }: BidiRunOptions) {
    this.requestId = headers["x-request-id"] ?? "";
    this.#reader = new RunReader({
      transport,
      request: { origin, path, headers, isLongLived: true },
      listener,
      limits: wireLimits(limits),
      onDrain: () => listener.drain?.(),
    });
  }

  send(payload: Uint8Array): boolean {
    return this.#reader.isOver || this.#reader.exchange.write(encodeFrame(payload));
  }

  pause(): void {
    this.#reader.pause();
  }

  resume(): void {
    this.#reader.resume();
  }

  closeSend(): void {
    this.#reader.exchange.end();
  }

  cancel(): void {
    this.#reader.cancel();
  }
}
