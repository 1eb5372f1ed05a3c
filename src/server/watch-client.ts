import type { IncomingMessage, ServerResponse } from "node:http";

/** When to probe a client that has closed its side. */
const PROBE_DELAYS_MS = [0, 2, 20, 40, 100, 400, 1000, 4000];

/**
 * Provokes a reset from a dead client. An object, not a function: V8 allocates a function assigned to a property
 * (`a.b = () => …`) in the old generation, and its closure lives until the next full collection (bench/README.md).
 */
export interface Probe {
  stayAlive(): void;
}

export interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Set once a stream has begun. */
  readonly probe: Probe | undefined;
  gone(): void;
}

/**
 * Calls `gone` as soon as the client can no longer be answered.
 *
 * A client that closes its side may still read the answer, or may be gone. The kernel tells these apart only after a
 * write. So we write an interim response (102), which commits nothing, or a keep-alive once the stream has begun. The
 * first write makes a dead peer reset the connection; the second one fails.
 */
export function watchClient(waiting: Waiting): void {
  let timer: NodeJS.Timeout | undefined;
  const { request, response } = waiting;
  const { socket } = request;
  const onFinishedAsking = () => {
    // HTTP/1.0 has no interim responses.
    if (request.httpVersion !== "1.1") return;
    let turn = 0;
    const look = () => {
      if (response.headersSent) waiting.probe?.stayAlive();
      else response.writeProcessing();
      const delay = PROBE_DELAYS_MS[++turn];
      if (delay !== undefined) timer = setTimeout(look, delay).unref();
    };
    look();
  };
  socket.on("end", onFinishedAsking);
  // It closed its side while this pipelined request waited for its turn.
  if (socket.readableEnded) onFinishedAsking();
  response.on("close", () => {
    socket.off("end", onFinishedAsking);
    clearTimeout(timer);
    if (!response.writableFinished) waiting.gone();
  });
}
