import type { ExcursorError } from "../core/errors.ts";
import { FLAG_COMPRESSED, FrameDecoder, type OnFrame } from "../wire/connect/envelope.ts";
import type { HttpExchange, HttpHandler, HttpRequest, HttpTransport } from "../wire/http/http.ts";
import { mediaType } from "../wire/http/http-errors.ts";
import { isTcpReset } from "../wire/http/network-errors.ts";
import { wireLimits } from "../wire/limits.ts";
import { createSseParser } from "../wire/sse/sse-parser.ts";
import { decodeBody, encodingsOf } from "./body-encoding.ts";
import type { CallRecording, CaptureRecorder } from "./recorder.ts";
import type { CallCut, CapturedMessage } from "./records.ts";

/** Wraps a transport, so that every exchange is recorded. The traffic is unchanged, and never waits for the recorder. */
export function captureTransport(
  transport: HttpTransport,
  name: "h1" | "h2",
  recorder: CaptureRecorder,
): HttpTransport {
  return {
    open: (request, handler) => {
      const tap = new ExchangeTap(request, name, recorder);
      return tap.exchange(transport.open(request, tap.handler(handler)));
    },
    ...(transport.connect && { connect: (origin: string) => transport.connect?.(origin) }),
    close: () => transport.close(),
    destroy: () => transport.destroy(),
  };
}

class ExchangeTap {
  readonly #recording: CallRecording;
  readonly #sent: BodyReader;
  #received: BodyReader | undefined;
  #trailers: Readonly<Record<string, string>> | undefined;
  #isOver = false;
  /** True if the request's body goes on after the response. */
  readonly #outlasts: boolean;
  #isResponseOver = false;
  #isRequestOver = false;

  constructor(
    { method = "POST", origin, path, headers, outlastsResponse = false, requestId }: HttpRequest,
    transport: "h1" | "h2",
    recorder: CaptureRecorder,
  ) {
    this.#recording = recorder.call({ method, origin, path, headers, transport, requestId });
    this.#sent = readBody("sent", headers, this.#recording);
    this.#outlasts = outlastsResponse;
  }

  handler(inner: HttpHandler): HttpHandler {
    return {
      head: (head) => {
        this.#recording.response({ status: head.status, headers: withCookies(head) });
        this.#received = readBody("received", head.headers, this.#recording);
        inner.head(head);
      },
      data: (chunk) => {
        this.#received?.push(chunk);
        inner.data(chunk);
      },
      drain: () => inner.drain?.(),
      trailers: (trailers) => {
        this.#trailers = trailers;
        inner.trailers?.(trailers);
      },
      end: () => {
        this.#isResponseOver = true;
        if (!this.#outlasts || this.#isRequestOver) this.#end("ok");
        inner.end();
      },
      fail: (error, reached) => {
        this.#end(error.code, cutOf(error));
        inner.fail(error, reached);
      },
    };
  }

  exchange(inner: HttpExchange): HttpExchange {
    return {
      write: (chunk) => {
        this.#sent.push(chunk);
        return inner.write(chunk);
      },
      end: (trailers) => {
        this.#isRequestOver = true;
        this.#sent.end();
        if (this.#isResponseOver) this.#end("ok");
        inner.end(trailers);
      },
      pause: () => inner.pause(),
      resume: () => inner.resume(),
      abort: () => {
        this.#end(this.#isResponseOver ? "ok" : "aborted");
        inner.abort();
      },
    };
  }

  #end(outcome: string, how?: CallCut): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sent.end();
    this.#received?.end();
    const [sentBytes, receivedBytes] = [this.#sent.bytes, this.#received?.bytes ?? 0];
    const cut = this.#received?.isInFrame ? { ...how, isInFrame: true as const } : how;
    this.#recording.end({ outcome, cut, trailers: this.#trailers, sentBytes, receivedBytes });
  }
}

function cutOf(error: ExcursorError): CallCut | undefined {
  const { http2Code } = error.context;
  if (typeof http2Code === "number") return { http2Code };
  return isTcpReset(error) ? { isTcpReset: true } : undefined;
}

const withCookies = ({ headers, cookies }: Parameters<HttpHandler["head"]>[0]): Readonly<Record<string, string>> =>
  cookies ? { ...headers, "set-cookie": cookies.join(", ") } : headers;

const GZIP: readonly string[] = ["gzip"];

const ENVELOPE_BYTES = 5;
/** A damaged record is a small loss. */
const MAX_FRAMES_BYTES = 64 * 1024;

/** Returns where whole frames without flags end, from a place of a chunk on: they are recorded as they are. */
function endOfFrames(chunk: Uint8Array, from: number): number {
  const byteAt = (at: number) => chunk[at] ?? 0;
  let end = from;
  while (end + ENVELOPE_BYTES <= chunk.length && chunk[end] === 0) {
    const length = byteAt(end + 1) * 2 ** 24 + ((byteAt(end + 2) << 16) | (byteAt(end + 3) << 8) | byteAt(end + 4));
    const next = end + ENVELOPE_BYTES + length;
    if (next > chunk.length || (end > from && next - from > MAX_FRAMES_BYTES)) break;
    end = next;
  }
  return end;
}

/** Reads the messages of a body as its bytes come. */
export interface BodyReader {
  readonly bytes: number;
  /** True after a part of a frame. */
  readonly isInFrame: boolean;
  push(chunk: Uint8Array): void;
  end(): void;
}

/** Starts to read a body as the messages that it holds: frames, events, or the body as one. */
export function readBody(
  direction: CapturedMessage["direction"],
  headers: Readonly<Record<string, string>>,
  recording: CallRecording,
): BodyReader {
  const { maxBodyBytes, maxInflatedBytes } = wireLimits();
  const type = mediaType(headers["content-type"]) ?? "";
  const encodings = encodingsOf(headers);
  const tell = (form: CapturedMessage["form"], wire: Uint8Array, flags: number, by: readonly string[] = []) => {
    const bytes = by.length === 0 ? wire : decodeBody(wire, by, maxInflatedBytes);
    if (bytes) recording.message({ direction, form, flags, wasCompressed: by.length > 0, bytes });
    else omit(wire.length);
  };
  // A secret in what stays compressed would not be found.
  const omit = (bytes: number) => recording.note({ type: "omitted", reason: "it cannot be decompressed", bytes });
  const body: Uint8Array[] = [];
  let bodyBytes = 0;
  const decoder = new FrameDecoder(wireLimits());
  const onFrame: OnFrame = (flags, payload) =>
    tell("frame", payload, flags & ~FLAG_COMPRESSED, flags & FLAG_COMPRESSED ? GZIP : undefined);
  const takeFrames = (chunk: Uint8Array) => {
    for (let at = 0; at < chunk.length; ) {
      const plainEnd = direction === "received" && decoder.heldBytes === 0 ? endOfFrames(chunk, at) : at;
      if (plainEnd > at) {
        recording.frames(direction, at === 0 && plainEnd === chunk.length ? chunk : chunk.subarray(at, plainEnd));
        at = plainEnd;
      }
      const end = Math.min(chunk.length, at + decoder.missingBytes);
      if (at < end) decoder.push(chunk.subarray(at, end), onFrame);
      at = end;
    }
  };
  const takeParts = type.startsWith("application/connect+")
    ? takeFrames
    : type === "text/event-stream"
      ? createSseParser({
          maxLength: maxBodyBytes,
          onEvent: (name, data) => tell("event", Buffer.from(JSON.stringify([name, data])), 0),
        })
      : undefined;
  const collect = (chunk: Uint8Array) => {
    if (bodyBytes + chunk.length <= maxBodyBytes) body.push(chunk);
    bodyBytes += chunk.length;
  };
  // A stream that is compressed as a whole is read at its end.
  const take = takeParts && encodings.length === 0 ? takeParts : collect;
  const takeWhole = (whole: Uint8Array) => {
    if (!takeParts) return tell("body", whole, 0, encodings);
    const decoded = decodeBody(whole, encodings, maxInflatedBytes);
    if (decoded) takeParts(decoded);
    else omit(whole.length);
  };
  let bytes = 0;
  let isOver = false;
  const attempt = (read: () => void) => {
    try {
      read();
    } catch {
      isOver = true;
      recording.note({ type: "omitted", reason: "the rest is not in the form that its type says", bytes: 0 });
    }
  };
  return {
    get bytes() {
      return bytes;
    },
    get isInFrame() {
      return decoder.heldBytes > 0;
    },
    push(chunk) {
      bytes += chunk.length;
      if (!isOver) attempt(() => take(chunk));
    },
    end() {
      if (isOver) return;
      isOver = true;
      if (bodyBytes > maxBodyBytes) recording.note({ type: "omitted", reason: "it is too long", bytes: bodyBytes });
      else if (bodyBytes > 0) attempt(() => takeWhole(Buffer.concat(body)));
    },
  };
}
