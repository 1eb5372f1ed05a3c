import { ExcursorError } from "../../core/errors.ts";
import { BodyCollector } from "../connect/body.ts";
import { encodingError } from "../connect/gzip.ts";
import type { HttpExchange, HttpHandler, HttpRequest, HttpTransport, ResponseHead } from "../http/http.ts";
import { mediaType, wrongContentType } from "../http/http-errors.ts";
import type { WireLimits } from "../limits.ts";
import { createSseParser } from "./sse-parser.ts";

export interface SseCallOptions {
  readonly transport: HttpTransport;
  readonly request: HttpRequest;
  readonly body: Uint8Array;
  readonly limits: WireLimits;
  /** Converts a status other than 200 and the body, as far as it was read. */
  readonly refusal: (head: ResponseHead, body: Buffer) => ExcursorError;
  readonly listener: SseListener;
}

interface SseListener {
  event(name: string, data: string): void;
  /** The last call. `reached` is false only if the peer cannot have seen the request. */
  done(error: ExcursorError | undefined, reached: boolean): void;
}

/** One request that is answered by server-sent events, with the limits of a run: size, silence, back-pressure. */
export class SseCall implements HttpHandler {
  readonly #options: SseCallOptions;
  readonly #exchange: HttpExchange;
  readonly #parse: (chunk: Uint8Array) => void;
  #refused: { readonly head: ResponseHead; readonly body: BodyCollector } | undefined;
  #isPaused = false;
  #isOver = false;
  #timer: NodeJS.Timeout;

  constructor(options: SseCallOptions) {
    const { transport, request, body, limits } = options;
    this.#options = options;
    this.#parse = createSseParser({
      maxLength: limits.maxFrameBytes,
      onEvent: (name, data) => {
        if (!this.#isOver) options.listener.event(name, data);
      },
    });
    this.#exchange = transport.open(
      { ...request, headers: { ...request.headers, "content-length": String(body.length) }, isLongLived: true },
      this,
    );
    this.#timer = this.#startTimer(limits.headersTimeoutMs);
    this.#exchange.write(body);
    this.#exchange.end();
  }

  pause(): void {
    this.#isPaused = true;
    clearTimeout(this.#timer);
    this.#exchange.pause();
  }

  resume(): void {
    if (!this.#isPaused || this.#isOver) return;
    this.#isPaused = false;
    this.#timer = this.#startTimer(this.#options.limits.idleTimeoutMs);
    this.#exchange.resume();
  }

  /** Aborts the call. The listener is not called any more. */
  cancel(): void {
    if (this.#isOver) return;
    this.#settle();
    this.#exchange.abort();
  }

  head(head: ResponseHead): void {
    if (head.status !== 200) {
      this.#refused = { head, body: new BodyCollector(this.#options.limits.maxErrorBodyBytes) };
    } else if (mediaType(head.headers["content-type"]) !== "text/event-stream") {
      this.#close(wrongContentType(head));
    } else if (!/^(?:identity)?$/i.test(head.headers["content-encoding"]?.trim() ?? "")) {
      // We asked for no compression.
      this.#close(encodingError(head.headers["content-encoding"] ?? ""));
    }
  }

  data(chunk: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#refused) {
      if (!this.#refused.body.push(chunk)) this.end();
      return;
    }
    if (!this.#isPaused) this.#timer.refresh();
    try {
      this.#parse(chunk);
    } catch (error) {
      this.#close(ExcursorError.from(error));
    }
  }

  end(): void {
    const { refusal } = this.#options;
    this.#close(this.#refused && refusal(this.#refused.head, this.#refused.body.bytes()));
  }

  fail(error: ExcursorError, reached: boolean): void {
    if (this.#refused) this.end();
    else this.#close(error, reached);
  }

  #close(error: ExcursorError | undefined, reached = true): void {
    if (this.#isOver) return;
    this.#settle();
    this.#exchange.abort();
    this.#options.listener.done(error, reached);
  }

  #settle(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }

  #startTimer(delayMs: number): NodeJS.Timeout {
    const onSilence = () => this.#close(new ExcursorError("idle_timeout"));
    return setTimeout(onSilence, delayMs).unref();
  }
}
