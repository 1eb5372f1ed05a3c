import type { ExcursorError } from "../../core/errors.ts";

/**
 * A live stream of messages to and from the backend, on either carrier: a bidirectional HTTP/2 stream, or the HTTP/1.1
 * pair of a download (`RunSSE`) and numbered uploads (`BidiAppend`).
 *
 * Payloads are serialized protobuf messages of any type. Callbacks instead of an async iterable, since a promise per
 * token would cost more than everything else on the token path.
 */
export interface RunStream {
  /** The `x-request-id` of this attempt. */
  readonly requestId: string;
  /**
   * Queues one message. False: wait for {@link RunListener.drain} before the next, as with a Node stream. After the end
   * it does nothing and returns true, since a reply to the last frame has no effect any more.
   */
  send(payload: Uint8Array): boolean;
  /**
   * Stops reading, so that flow control stops the backend. Neither a message nor the end arrives until {@link resume},
   * even if the connection breaks. Cancelling still works.
   */
  pause(): void;
  /** Delivers the messages that were held back before it returns. */
  resume(): void;
  /** Half-closes: sends nothing more, but reads the answer to its end. */
  closeSend(): void;
  /** Aborts the stream in both directions. The listener gets a `canceled` error, unless it was done. */
  cancel(): void;
}

export interface RunListener {
  /** The backend accepted the call (HTTP 200 with the right content type). At most once, before any message. */
  open?(headers: Readonly<Record<string, string>>): void;
  /**
   * One message, in order. The bytes are a view that keeps its read buffer alive; nothing overwrites them. Throwing
   * fails the run, with the thrown error if it is an ExcursorError.
   */
  message(payload: Uint8Array): void;
  /** {@link RunStream.send} accepts messages again after it returned false. */
  drain?(): void;
  /**
   * Called exactly once, last. No error means that an end frame reported success. A stream that merely stops is an
   * `upstream-unavailable` error with code `stream_truncated`. Called as soon as the end frame arrives; everything
   * after it is dropped.
   */
  done(error: ExcursorError | undefined, end: RunEnd): void;
}

export interface RunEnd {
  /** Metadata of the end frame, with lower-case names such as `retry-after`. */
  readonly metadata: Readonly<Record<string, readonly string[]>>;
  /**
   * Whether the backend may have processed the request. False only with proof that it has not: no connection was made,
   * the stream was refused, or GOAWAY named a lower stream. Such an attempt can safely be repeated.
   */
  readonly reached: boolean;
}
