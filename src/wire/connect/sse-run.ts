import { create, toBinary } from "@bufbuild/protobuf";
import { BidiRequestIdSchema } from "../../gen/aiserver/v1/bidi_pb.ts";
import type { HttpTransport } from "../http/http.ts";
import { type WireLimits, wireLimits } from "../limits.ts";
import { AppendQueue } from "./append-queue.ts";
import { encodeFrame } from "./envelope.ts";
import { RunReader } from "./run-reader.ts";
import type { RunListener, RunStream } from "./run-stream.ts";

export const RUN_SSE_PATH = "/agent.v1.AgentService/RunSSE";
export const APPEND_PATH = "/aiserver.v1.BidiService/BidiAppend";

export interface SseRunOptions {
  /** Meant for HTTP/1.1; HTTP/2 works, too. */
  readonly transport: HttpTransport;
  readonly origin: string;
  /** Joins the download and the uploads. Both sets of headers must have it as `x-request-id`. */
  readonly requestId: string;
  /** The headers of `callHeaders("run-sse")`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The headers of `callHeaders("append")`. */
  readonly appendHeaders: Readonly<Record<string, string>>;
  /** Returns new headers after an append got 401; undefined if there are none. */
  readonly renewAppendHeaders?: (() => Promise<Readonly<Record<string, string>> | undefined>) | undefined;
  readonly listener: RunListener;
  readonly limits?: Partial<WireLimits>;
  /** Default: 16. */
  readonly maxAppendsInFlight?: number;
  /** Timeout of an append, default 60 s, plus a second for every 128 KiB. */
  readonly appendTimeoutMs?: number;
}

/**
 * Opens a run as the HTTP/1.1 pair: one long download of frames, `RunSSE`, which is no event stream despite its name,
 * and a `BidiAppend` for every message. The first append does not wait for the download's response.
 *
 * There is no half-close, so `closeSend` only stops sending. A failed append fails the run, unless the run is over.
 */
export function openSseRun(options: SseRunOptions): RunStream {
  const { transport, origin, requestId, listener } = options;
  const limits = wireLimits(options.limits);
  let isSendClosed = false;

  const appends = new AppendQueue({
    transport,
    origin,
    path: APPEND_PATH,
    headers: options.appendHeaders,
    renewHeaders: options.renewAppendHeaders,
    requestId,
    limits,
    maxInFlight: options.maxAppendsInFlight ?? 16,
    timeoutMs: options.appendTimeoutMs ?? 60_000,
    bytesPerSecond: 128 * 1024,
    onDrain: () => listener.drain?.(),
    onFail: (error) => reader.close(error),
  });
  const question = encodeFrame(toBinary(BidiRequestIdSchema, create(BidiRequestIdSchema, { requestId })));
  const headers = { ...options.headers, "content-length": String(question.length) };
  const reader: RunReader = new RunReader({
    transport,
    request: { origin, path: RUN_SSE_PATH, headers, isLongLived: true },
    listener,
    limits,
    // Some backends name it so, and send the same frames.
    alsoAccepts: "text/event-stream",
    onOver: () => appends.stop(),
  });
  reader.exchange.write(question);
  reader.exchange.end();

  return {
    requestId,
    send: (payload) => reader.isOver || isSendClosed || appends.push(payload),
    pause: () => reader.pause(),
    resume: () => reader.resume(),
    closeSend: () => {
      isSendClosed = true;
    },
    cancel: () => reader.cancel(),
  };
}
