import { encodeFrame } from "./envelope.ts";
import type { HttpTransport } from "./http.ts";
import { type WireLimits, wireLimits } from "./limits.ts";
import { RunReader } from "./run-reader.ts";
import type { RunListener, RunStream } from "./run-stream.ts";

const RUN_PATH = "/agent.v1.AgentService/Run";

export interface BidiRunOptions {
  /** HTTP/2: the backend refuses this call on HTTP/1.1. */
  readonly transport: HttpTransport;
  readonly origin: string;
  /** Default: the agent's `Run`. */
  readonly path?: string;
  /** As {@link file://./headers.ts} makes them for `run`, with the request id. */
  readonly headers: Readonly<Record<string, string>>;
  readonly listener: RunListener;
  readonly signal?: AbortSignal;
  readonly limits?: Partial<WireLimits>;
}

/** A run as one bidirectional stream of frames. Cancelling resets the stream with CANCEL. */
export function openBidiRun(options: BidiRunOptions): RunStream {
  const { transport, origin, path = RUN_PATH, headers, listener, signal } = options;
  const request = { origin, path, headers, isLongLived: true };
  const reader = new RunReader({
    transport,
    request,
    listener,
    signal,
    limits: wireLimits(options.limits),
    onDrain: () => listener.drain?.(),
  });
  return {
    requestId: headers["x-request-id"] ?? "",
    send: (payload) => reader.isOver || reader.exchange.write(encodeFrame(payload)),
    pause: () => reader.pause(),
    resume: () => reader.resume(),
    closeSend: () => reader.exchange.end(),
    cancel: () => reader.cancel(),
  };
}
