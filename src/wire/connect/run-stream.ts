import type { ExcursorError } from "../../core/errors.ts";

/**
 * One live exchange of framed messages with the backend, whatever carries it: a bidirectional HTTP/2 stream, or
 * the HTTP/1.1 pair of a download (`RunSSE`) and numbered uploads (`BidiAppend`).
 *
 * Payloads are serialized protobuf messages; this layer neither knows nor cares which. Callbacks instead of an
 * async iterable, since a promise per token costs more than everything else on the token path.
 */
export interface RunStream {
  /** The `x-request-id` this attempt carries. */
  readonly requestId: string;
  /**
   * Queues one message. False means "enough for now": wait for {@link RunListener.drain} before the next, as with
   * a Node stream. Sending after the end is a no-op that returns true: the answer to a question asked in the last
   * frame is nobody's business any more.
   */
  send(payload: Uint8Array): boolean;
  /**
   * Stops reading, so that flow control stops the backend. Neither a message nor the end comes until {@link resume},
   * not even that of a connection that broke meanwhile; cancelling works.
   */
  pause(): void;
  /** Messages that were held back come before it returns. */
  resume(): void;
  /** Half-closes: nothing more will be sent; the answer is still read to its end. */
  closeSend(): void;
  /** Drops the exchange now, in both directions. The listener is told with a `canceled` error, unless it was done. */
  cancel(): void;
}

export interface RunListener {
  /** The backend accepted the exchange (HTTP 200 with the right content type). At most once, before any message. */
  open?(headers: Readonly<Record<string, string>>): void;
  /**
   * One message, in order. The bytes are a view, mostly into a read buffer: nobody will write to it again, but keeping
   * it keeps all of that buffer. Throwing fails the run, with what was thrown if that is an ExcursorError.
   */
  message(payload: Uint8Array): void;
  /** {@link RunStream.send} may be used again after it returned false. */
  drain?(): void;
  /**
   * Exactly once, last. Without an error the backend ended the stream properly, with an end frame that says so;
   * a stream that merely stops is an `upstream-unavailable` error with code `stream_truncated`. Told as soon as the
   * end frame is there, whatever the transport does next; what follows that frame is dropped.
   */
  done(error: ExcursorError | undefined, end: RunEnd): void;
}

export interface RunEnd {
  /** Metadata of the end frame, lower-case names, e.g. `retry-after`. */
  readonly metadata: Readonly<Record<string, readonly string[]>>;
  /**
   * Whether the backend can have begun to act on what was sent. False only where it proved that it has not: the
   * connection was never made, the stream was refused, or GOAWAY named a lower stream. Such an attempt may be
   * repeated without asking anybody.
   */
  readonly reached: boolean;
}
