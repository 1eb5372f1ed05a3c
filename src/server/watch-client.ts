import type { IncomingMessage, ServerResponse } from "node:http";

/** When to look, after the client has said its last word, whether it still listens. */
const PROBE_DELAYS_MS = [0, 2, 20, 40, 100, 400, 1000, 4000];

/**
 * Makes a dead client notice itself. An object, since V8 makes a function that is assigned to a property where it is
 * written down (`a.b = () => …`) in the old generation, and with it keeps all that the function sees until the next full
 * collection (bench/README.md).
 */
export interface Probe {
  /** Writes something that means nothing. */
  stayAlive(): void;
}

/** Somebody who waits for an answer. */
export interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** There once the answer has begun. */
  readonly probe: Probe | undefined;
  gone(): void;
}

/**
 * Calls `gone` as soon as the client cannot be answered any more.
 *
 * A client that closes its side may only have finished asking, and must be answered. It may also be gone: the kernel
 * tells these apart no sooner than something is sent. So something is: an interim response (102), which commits nothing,
 * or whatever `probe` writes once the answer has begun. The first one makes a dead peer object, the second meets the
 * objection.
 */
export function watchClient(waiting: Waiting): void {
  let timer: NodeJS.Timeout | undefined;
  const { request, response } = waiting;
  const { socket } = request;
  const onFinishedAsking = () => {
    // Older clients know no interim responses.
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
  // The last one that it had sent ahead.
  if (socket.readableEnded) onFinishedAsking();
  response.on("close", () => {
    socket.off("end", onFinishedAsking);
    clearTimeout(timer);
    if (!response.writableFinished) waiting.gone();
  });
}
