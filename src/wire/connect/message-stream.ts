import { ExcursorError } from "../../core/errors.ts";
import type { WireLimits } from "../limits.ts";
import { type EndOfStream, parseEndOfStream } from "./end-of-stream.ts";
import { FLAG_COMPRESSED, FLAG_END, FrameDecoder } from "./envelope.ts";
import { encodingError, gunzip, gunzipNow, MAX_SYNC_BYTES } from "./gzip.ts";

export interface MessageSink {
  message(payload: Uint8Array): void;
  /** The end frame arrived. This or {@link broken} is the last call. */
  ended(end: EndOfStream): void;
  /** The stream cannot be read any further. */
  broken(error: ExcursorError): void;
}

export interface MessageSource {
  pause(): void;
  resume(): void;
}

/**
 * Converts bytes to messages: frames, decompression, order, end. Used for every stream.
 *
 * It is *blocked* while it is paused or a large message is inflated on another thread. It then pauses its source and
 * keeps the remaining frames of the last chunk. So no message arrives between `pause()` and `resume()`, and the order
 * is kept. Everything after the end frame is dropped.
 */
export class MessageStream {
  readonly #sink: MessageSink;
  readonly #source: MessageSource;
  readonly #limits: WireLimits;
  readonly #encoding: string;
  readonly #decoder: FrameDecoder;
  #frames = 0;
  #waiting: Array<readonly [flags: number, payload: Uint8Array]> = [];
  /** Ends the stream after the frames that arrived before it. */
  #failure: ExcursorError | undefined;
  #isPaused = false;
  #isInflating = false;
  #isDraining = false;
  #isOver = false;

  /** `encoding` is the response's `connect-content-encoding`. */
  constructor(limits: WireLimits, encoding: string | undefined, source: MessageSource, sink: MessageSink) {
    this.#limits = limits;
    this.#encoding = encoding ?? "gzip";
    this.#source = source;
    this.#sink = sink;
    this.#decoder = new FrameDecoder(limits);
  }

  get frames(): number {
    return this.#frames;
  }

  push(chunk: Uint8Array): void {
    try {
      this.#decoder.push(chunk, this.#onFrame);
    } catch (error) {
      // A sink that throws fails its own stream, not the process.
      this.fail(ExcursorError.from(error));
    }
  }

  /** Called when the source has no more bytes. Without an end frame that is an error. */
  finish(): void {
    let failure = new ExcursorError("stream_truncated", "The stream ended early.");
    try {
      this.#decoder.finish();
    } catch (error) {
      failure = ExcursorError.from(error);
    }
    this.fail(failure);
  }

  /** Called when the source fails. Earlier messages are delivered first, and an end frame among them counts. */
  fail(error: ExcursorError): void {
    this.#failure ??= error;
    this.#drain();
  }

  pause(): void {
    this.#isPaused = true;
    this.#source.pause();
  }

  /** Delivers the messages that were held back before it returns. */
  resume(): void {
    this.#isPaused = false;
    this.#drain();
  }

  stop(): void {
    this.#isOver = true;
    this.#waiting = [];
  }

  readonly #onFrame = (flags: number, payload: Uint8Array): void => {
    this.#frames++;
    if (this.#isOver) return;
    if (this.#isPaused || this.#isInflating) this.#waiting.push([flags, payload]);
    else this.#inflate(flags, payload);
  };

  #inflate(flags: number, payload: Uint8Array): void {
    if ((flags & FLAG_COMPRESSED) === 0 || payload.length === 0) {
      this.#deliver(flags, payload);
      return;
    }
    if (this.#encoding !== "gzip") throw encodingError(this.#encoding);
    const maxBytes = flags & FLAG_END ? this.#limits.maxEndBytes : this.#limits.maxInflatedBytes;
    if (payload.length <= MAX_SYNC_BYTES) {
      this.#deliver(flags, gunzipNow(payload, maxBytes));
      return;
    }
    this.#isInflating = true;
    this.#source.pause();
    void gunzip(payload, maxBytes)
      .finally(() => {
        this.#isInflating = false;
      })
      .then((inflated) => this.#deliver(flags, inflated))
      .catch((error) => this.#failNow(error))
      .then(() => this.#drain());
  }

  #deliver(flags: number, payload: Uint8Array): void {
    if (this.#isOver) return;
    if ((flags & FLAG_END) === 0) {
      this.#sink.message(payload);
      return;
    }
    this.stop();
    this.#sink.ended(parseEndOfStream(payload));
  }

  #drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    try {
      while (!this.#isPaused && !this.#isInflating) {
        const frame = this.#waiting.shift();
        if (!frame) break;
        this.#inflate(...frame);
      }
    } catch (error) {
      this.#failNow(error);
    }
    this.#isDraining = false;
    if (this.#isPaused || this.#isInflating || this.#isOver) return;
    if (this.#failure) this.#failNow(this.#failure);
    else this.#source.resume();
  }

  #failNow(error: unknown): void {
    if (this.#isOver) return;
    this.stop();
    this.#sink.broken(ExcursorError.from(error));
  }
}
