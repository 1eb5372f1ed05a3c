import { CANCELED, ExcursorError } from "../../core/errors.ts";
import type { HttpExchange, HttpHandler, HttpRequest, HttpTransport, ResponseHead } from "../http/http.ts";
import { fromFailedResponse, mediaType, wrongContentType } from "../http/http-errors.ts";
import type { WireLimits } from "../limits.ts";
import { BodyCollector } from "./body.ts";
import type { EndOfStream } from "./end-of-stream.ts";
import { type MessageSink, MessageStream } from "./message-stream.ts";
import type { RunEnd, RunListener } from "./run-stream.ts";

export interface ReaderOptions {
  readonly transport: HttpTransport;
  readonly request: HttpRequest;
  readonly listener: RunListener;
  readonly limits: WireLimits;
  /** Another content type that the response may have. */
  readonly alsoAccepts?: string;
  /** Called when the exchange accepts more of the request's body. */
  readonly onDrain?: () => void;
  /** Called when the run is over, before its listener. */
  readonly onOver?: () => void;
}

/**
 * The receiving half of a run, on any transport: the response and its time limits, until the listener's `done`. It
 * opens the exchange, and it alone decides when the run is over.
 *
 *     waiting ──200──▶ reading ──end frame──▶ over ──▶ closed (the exchange lingers until the peer closes it)
 *        │                │ anything else
 *        │ other status   ▼
 *        └─▶ refused ──▶ over (the exchange is aborted)
 */
export class RunReader implements HttpHandler, MessageSink {
  readonly exchange: HttpExchange;
  readonly #options: ReaderOptions;
  #state:
    | { readonly at: "waiting" }
    | { readonly at: "refused"; readonly head: ResponseHead; readonly body: BodyCollector }
    | { readonly at: "reading"; readonly messages: MessageStream }
    | { readonly at: "over" }
    | { readonly at: "closed" } = { at: "waiting" };
  #isPaused = false;
  #timer: NodeJS.Timeout;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.exchange = options.transport.open(options.request, this);
    this.#timer = this.#after(options.limits.headersTimeoutMs, () =>
      this.fail(new ExcursorError("headers_timeout"), true),
    );
  }

  get isOver(): boolean {
    return this.#state.at === "over" || this.#state.at === "closed";
  }

  pause(): void {
    this.#isPaused = true;
    if (this.#state.at !== "reading") return;
    clearTimeout(this.#timer);
    this.#state.messages.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    if (this.#state.at !== "reading") return;
    this.#startIdleTimer();
    this.#state.messages.resume();
  }

  cancel(): void {
    // Most runs are over when they are cancelled, and creating an error costs a stack trace.
    if (this.isOver) return;
    this.close(CANCELED);
  }

  close(error: ExcursorError, reached = true): void {
    if (this.isOver) return;
    this.exchange.abort();
    this.#finish(error, { metadata: {}, reached });
  }

  head(head: ResponseHead): void {
    if (head.status !== 200) {
      this.#state = { at: "refused", head, body: new BodyCollector(this.#options.limits.maxErrorBodyBytes) };
      return;
    }
    const type = mediaType(head.headers["content-type"]);
    if (type !== "application/connect+proto" && type !== this.#options.alsoAccepts) {
      this.close(wrongContentType(head));
      return;
    }
    const { listener, limits } = this.#options;
    const encoding = head.headers["connect-content-encoding"];
    const messages = new MessageStream(limits, encoding, this.exchange, this);
    this.#state = { at: "reading", messages };
    clearTimeout(this.#timer);
    if (this.#isPaused) messages.pause();
    else this.#startIdleTimer();
    listener.open?.(head.headers);
  }

  data(chunk: Uint8Array): void {
    const state = this.#state;
    if (state.at === "refused") {
      if (!state.body.push(chunk)) this.#refuse(state.head, state.body);
      return;
    }
    if (state.at !== "reading") return;
    const { frames } = state.messages;
    state.messages.push(chunk);
    // Bytes that complete no message do not reset the idle timeout.
    if (state.messages.frames > frames && !this.#isPaused && !this.isOver) this.#timer.refresh();
  }

  drain(): void {
    if (!this.isOver) this.#options.onDrain?.();
  }

  end(): void {
    const state = this.#state;
    if (state.at === "reading") state.messages.finish();
    else if (state.at === "refused") this.#refuse(state.head, state.body);
    else this.#close();
  }

  fail(error: ExcursorError, reached: boolean): void {
    const state = this.#state;
    if (state.at === "reading") state.messages.fail(error);
    else if (state.at === "refused") this.#refuse(state.head, state.body);
    else if (state.at === "waiting") this.close(error, reached);
    else this.#close();
  }

  broken(error: ExcursorError): void {
    this.close(error);
  }

  #refuse(head: ResponseHead, body: BodyCollector): void {
    this.close(fromFailedResponse(head, body.bytes()));
  }

  message(payload: Uint8Array): void {
    this.#options.listener.message(payload);
  }

  /** Ends the run. The peer then gets a limited time to close the stream. */
  ended({ error, metadata }: EndOfStream): void {
    const { exchange } = this;
    exchange.end();
    exchange.resume();
    this.#finish(error, { metadata, reached: true });
    // Most peers close it in the same packet, and need no timer.
    setImmediate(() => {
      if (this.#state.at === "closed") return;
      this.#timer = this.#after(this.#options.limits.lingerMs, () => exchange.abort());
    });
  }

  #close(): void {
    this.#state = { at: "closed" };
    clearTimeout(this.#timer);
  }

  #finish(error: ExcursorError | undefined, end: RunEnd): void {
    if (this.#state.at === "reading") this.#state.messages.stop();
    this.#state = { at: "over" };
    clearTimeout(this.#timer);
    const { onOver, listener } = this.#options;
    onOver?.();
    listener.done(error, end);
  }

  #startIdleTimer(): void {
    this.#timer = this.#after(this.#options.limits.idleTimeoutMs, () =>
      this.close(new ExcursorError("idle_timeout", "The backend was silent for too long.")),
    );
  }

  /** Timers are unreferenced: the exchange's socket keeps the process alive. */
  #after(delayMs: number, act: () => void): NodeJS.Timeout {
    return setTimeout(act, delayMs).unref();
  }
}
