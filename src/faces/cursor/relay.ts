import type { OutgoingHttpHeaders } from "node:http";
import { constants } from "node:http2";
import type { ExcursorError } from "../../core/errors.ts";
import {
  type HttpExchange,
  type HttpRequest,
  type HttpTransport,
  plainHeaders,
  type ResponseHead,
} from "../../wire/http/http.ts";
import { mediaType } from "../../wire/http/http-errors.ts";
import { isTcpReset } from "../../wire/http/network-errors.ts";
import type { HttpVersion, ServerExchange } from "../../wire/http/server-exchange.ts";
import { respondError } from "./errors.ts";

/** The backend that calls are passed on to. */
export interface Backend {
  readonly origin: string;
  /** Where its REST interface is. Absent: at the same origin. */
  readonly restOrigin?: string | undefined;
  readonly transports: Readonly<Record<HttpVersion, HttpTransport>>;
}

/** True for calls of the REST interface, which takes API keys instead of access tokens. Telemetry (OTLP) is none of them. */
export const isRest = (path: string): boolean => path.startsWith("/v1/") && !OTLP.has(path);

const OTLP: ReadonlySet<string> = new Set(["/v1/traces", "/v1/metrics", "/v1/logs"]);

/** Returns the origin that answers calls to this path. */
export const originFor = (path: string, { origin, restOrigin = origin }: Backend): string =>
  isRest(path) ? restOrigin : origin;

/** The part of a request's body that was read to find out whose request it is. */
export interface Held {
  readonly chunks: readonly Uint8Array[];
  /** The body has no more than this. */
  readonly isWhole: boolean;
}

/** Told of a call that is not just passed on: what of its body has been read, and the id of its run. */
export type OnOwnCall = (exchange: ServerExchange, held: Held, requestId: string) => void;

const NOTHING: Held = { chunks: [], isWhole: false };

/**
 * Passes a request on to the backend and its answer back: method, path, query, headers, both bodies as they come, status,
 * and the trailers of both. Either side waits for a slow reader, and is cancelled if the other one is gone. Keeps nothing.
 */
export function relay(exchange: ServerExchange, backend: Backend, held: Held = NOTHING): void {
  pipe(exchange, backend, held, {
    head({ status, headers, cookies }) {
      exchange.open(status, { ...passedOn(headers), ...setCookie(cookies) });
      return undefined;
    },
    fail: (error) => failed(exchange, error),
  });
}

export interface RelayHandler {
  /** Opens the client's answer, or takes it over: then the body is not passed on. */
  head(head: ResponseHead): BodyTaker | undefined;
  /** The backend's answer failed. */
  fail(error: ExcursorError): void;
}

/** Takes the body of an answer that is not passed on. */
interface BodyTaker {
  data(chunk: Uint8Array): void;
  end(): void;
}

/** As {@link relay}, but `handler` decides on the answer. `headers` replace those of the request. */
export function pipe(
  exchange: ServerExchange,
  backend: Backend,
  held: Held,
  handler: RelayHandler,
  headers?: Readonly<Record<string, string>>,
): void {
  // The client may have left while it was found out where its call goes.
  if (exchange.isOver) return;
  const { request } = exchange;
  let taker: BodyTaker | undefined;
  let isOver = false;
  const settle = () => {
    isOver = true;
    request.off("data", onData).off("end", onEnd);
    // The rest of the request is of no interest, but must not fill the connection.
    request.resume();
  };
  const target = { ...requestTo(exchange, backend, headers), mayHaveTrailers: true, outlastsResponse: true };
  const upstream: HttpExchange = backend.transports[exchange.transport].open(target, {
    head: (head) => {
      taker = handler.head(head);
    },
    data(chunk) {
      if (taker) taker.data(chunk);
      else if (!exchange.write(chunk)) {
        upstream.pause();
        void exchange.drained().then(() => upstream.resume());
      }
    },
    drain() {
      exchange.release();
      request.resume();
    },
    trailers: (trailers) => exchange.addTrailers(passedOn(trailers)),
    end() {
      isOver = true;
      if (taker) taker.end();
      else exchange.end();
      // What the client still sends, such as confirmations, is for the backend. Nothing waits for it.
      request.resume();
    },
    fail(error) {
      settle();
      handler.fail(error);
    },
  });
  const onData = (chunk: Buffer) => {
    if (!upstream.write(chunk)) request.pause();
  };
  const onEnd = () => upstream.end(passedOn(plainHeaders(request.trailers)));
  request.once("close", () => isOver && upstream.end());
  exchange.onOver((wasCut) => {
    if (!wasCut || isOver) return;
    settle();
    upstream.abort();
  });
  let isTaken = true;
  for (const chunk of held.chunks) isTaken = upstream.write(chunk) && isTaken;
  if (isTaken) exchange.release();
  if (held.isWhole) onEnd();
  else if (exchange.isBodyless) {
    onEnd();
    request.resume();
  } else {
    request.on("data", onData).on("end", onEnd);
    request.resume();
  }
}

/** What the client would have got: an error before the answer began, a reset after that. */
function failed(exchange: ServerExchange, error: ExcursorError): void {
  if (exchange.hasResponded) breakOff(exchange, error);
  else respondError(exchange, error);
}

/** Breaks off an answer that has begun, in the way in which the backend did. */
export function breakOff(exchange: ServerExchange, error: ExcursorError): void {
  const { http2Code } = error.context;
  if (error.code === "connection_reset") exchange.loseBackend(isTcpReset(error));
  else exchange.reset(typeof http2Code === "number" ? http2Code : constants.NGHTTP2_INTERNAL_ERROR);
}

export function requestTo(exchange: ServerExchange, backend: Backend, headers = requestHeaders(exchange)): HttpRequest {
  const { target: path, method } = exchange;
  return { origin: originFor(exchange.path, backend), path, method, headers, isLongLived: isStream(exchange) };
}

/** The client's headers, without those that are for this connection. */
export function requestHeaders({ request }: ServerExchange): Readonly<Record<string, string>> {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name.startsWith(":") || NOT_PASSED_ON.has(name)) continue;
    given[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return passedOn(given);
}

const NOT_PASSED_ON: ReadonlySet<string> = new Set(["host", "expect"]);

/** Headers that are for one connection only (RFC 9110, 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
]);

export function passedOn(headers: Readonly<Record<string, string>>): Record<string, string> {
  const named = new Set((headers["connection"] ?? "").split(",").map((name) => name.trim().toLowerCase()));
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!HOP_BY_HOP.has(name) && !named.has(name) && name !== "set-cookie") passed[name] = value;
  }
  return passed;
}

export const setCookie = (cookies: readonly string[] | undefined): OutgoingHttpHeaders =>
  cookies ? { "set-cookie": [...cookies] } : {};

/** Streams get connections of their own, so that they do not use up those of short calls. */
function isStream(exchange: ServerExchange): boolean {
  const type = mediaType(exchange.header("content-type"));
  return /^application\/(?:connect\+|grpc)/.test(type) || exchange.header("accept") === "text/event-stream";
}
