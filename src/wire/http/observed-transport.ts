import { appendedKind, messageKind, methodOf } from "../agent/frame-kind.ts";
import { FLAG_COMPRESSED, FLAG_END, FrameDecoder } from "../connect/envelope.ts";
import { APPEND_PATH } from "../connect/sse-run.ts";
import { wireLimits } from "../limits.ts";
import { createSseParser } from "../sse/sse-parser.ts";
import type { HttpExchange, HttpHandler, HttpRequest, HttpTransport, ResponseHead } from "./http.ts";
import { mediaType } from "./http-errors.ts";

/** Observes a transport: names, sizes and times, never content. */
export interface CallObserver {
  call(call: ObservedCall): void;
  /** Called for each frame or event. Absent: they are not parsed. */
  frame?: ((frame: ObservedFrame) => void) | undefined;
}

export interface ObservedCall {
  /** The same for all frames of one exchange. */
  readonly id: string;
  readonly method: string;
  readonly host: string;
  /** Without its query. */
  readonly path: string;
  readonly transport: "h1" | "h2";
  /** Unset if there was no response. */
  readonly status?: number;
  readonly ms: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** `ok`, `aborted` (by this side, before the response was complete), or the code of the failure. */
  readonly end: string;
}

export interface ObservedFrame {
  readonly id: string;
  readonly dir: "in" | "out";
  readonly kind: string;
  /** Of the payload on the wire. */
  readonly bytes: number;
}

/** Wraps a transport, so that an observer sees every exchange. Ids begin with `prefix`. The traffic is unchanged. */
export function observeTransport(
  transport: HttpTransport,
  name: "h1" | "h2",
  observer: CallObserver,
  prefix: string = name,
): HttpTransport {
  let count = 0;
  return {
    open: (request, handler) => {
      const watch = new ExchangeWatch(`${prefix}-${++count}`, request, name, observer);
      return watch.exchange(transport.open(request, watch.handler(handler)));
    },
    ...(transport.connect && { connect: (origin: string) => transport.connect?.(origin) }),
    close: () => transport.close(),
    destroy: () => transport.destroy(),
  };
}

class ExchangeWatch {
  readonly #id: string;
  readonly #request: HttpRequest;
  readonly #path: string;
  readonly #transport: "h1" | "h2";
  readonly #observer: CallObserver;
  readonly #startedAt = performance.now();
  readonly #onSent: (chunk: Uint8Array) => void;
  #onReceived: (chunk: Uint8Array) => void = () => {};
  #status: number | undefined;
  #sentBytes = 0;
  #receivedBytes = 0;
  #isOver = false;

  constructor(id: string, request: HttpRequest, transport: "h1" | "h2", observer: CallObserver) {
    this.#id = id;
    this.#request = request;
    this.#path = request.path.split("?", 1)[0] ?? "";
    this.#transport = transport;
    this.#observer = observer;
    this.#onSent = observer.frame ? this.#sentReader() : () => {};
  }

  handler(inner: HttpHandler): HttpHandler {
    return {
      head: (head) => {
        this.#status = head.status;
        if (this.#observer.frame) this.#onReceived = this.#receivedReader(head);
        inner.head(head);
      },
      data: (chunk) => {
        this.#receivedBytes += chunk.length;
        this.#onReceived(chunk);
        inner.data(chunk);
      },
      drain: () => inner.drain?.(),
      trailers: (trailers) => inner.trailers?.(trailers),
      end: () => {
        this.#end("ok");
        inner.end();
      },
      fail: (error, reached) => {
        this.#end(error.code);
        inner.fail(error, reached);
      },
    };
  }

  exchange(inner: HttpExchange): HttpExchange {
    return {
      write: (chunk) => {
        this.#sentBytes += chunk.length;
        this.#onSent(chunk);
        return inner.write(chunk);
      },
      end: (trailers) => inner.end(trailers),
      pause: () => inner.pause(),
      resume: () => inner.resume(),
      abort: () => {
        this.#end("aborted");
        inner.abort();
      },
    };
  }

  #end(end: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#observer.call({
      id: this.#id,
      method: this.#request.method ?? "POST",
      host: new URL(this.#request.origin).host,
      path: this.#path,
      transport: this.#transport,
      ...(this.#status !== undefined && { status: this.#status }),
      ms: Math.round(performance.now() - this.#startedAt),
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
      end,
    });
  }

  #tell(dir: "in" | "out", kind: string, bytes: number): void {
    this.#observer.frame?.({ id: this.#id, dir, kind, bytes });
  }

  #sentReader(): (chunk: Uint8Array) => void {
    if (this.#path === APPEND_PATH) return (body) => this.#tell("out", appendedKind(body), body.length);
    if (mediaType(this.#request.headers["content-type"]) !== "application/connect+proto") return () => {};
    return this.#frameReader("out");
  }

  #receivedReader({ headers }: ResponseHead): (chunk: Uint8Array) => void {
    const type = mediaType(headers["content-type"]);
    if (type === "application/connect+proto") return this.#frameReader("in");
    if (type !== "text/event-stream") return () => {};
    return untilFailed(
      createSseParser({
        maxLength: wireLimits().maxFrameBytes,
        onEvent: (name, data) => this.#tell("in", EVENT_NAME.test(name) ? name : "event", data.length),
      }),
    );
  }

  #frameReader(dir: "in" | "out"): (chunk: Uint8Array) => void {
    const method = methodOf(this.#path);
    const schema = dir === "in" ? method?.output : method?.input;
    const decoder = new FrameDecoder(wireLimits());
    const kindOf = (flags: number, payload: Uint8Array): string => {
      if (flags & FLAG_END) return "end";
      if (flags & FLAG_COMPRESSED) return "compressed";
      return schema ? messageKind(schema, payload) : "message";
    };
    return untilFailed((chunk) =>
      decoder.push(chunk, (flags, payload) => this.#tell(dir, kindOf(flags, payload), payload.length)),
    );
  }
}

/** Other names are not logged, since the upstream chooses them. */
const EVENT_NAME = /^[\w.]{1,64}$/;

/** Stops reading at the first error; the stream's own reader reports it. */
function untilFailed(read: (chunk: Uint8Array) => void): (chunk: Uint8Array) => void {
  let hasFailed = false;
  return (chunk) => {
    if (hasFailed) return;
    try {
      read(chunk);
    } catch {
      hasFailed = true;
    }
  };
}
