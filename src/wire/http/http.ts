import { ExcursorError } from "../../core/errors.ts";
import type { WireLimits } from "../limits.ts";
import type { FindProxy } from "./proxy.ts";

/**
 * HTTP for the rest of this folder: a request and its response as two byte streams, the same for HTTP/1.1 and HTTP/2.
 * Callbacks, for the reason given in `connect/run-stream.ts`.
 */
export interface HttpTransport {
  /** Starts an exchange. The handler is not called before this returns. */
  open(request: HttpRequest, handler: HttpHandler): HttpExchange;
  /** Opens a connection ahead of the next exchange, if the transport can. A failure surfaces in that exchange. */
  connect?(origin: string): void;
  /** Refuses new exchanges, and resolves when the open ones are over. */
  close(): Promise<void>;
  /** Aborts everything. */
  destroy(): void;
}

export interface TransportOptions {
  readonly limits?: Partial<WireLimits>;
  /** Certificates to trust instead of Node's own list. */
  readonly ca?: string | Buffer;
  readonly findProxy?: FindProxy;
}

export interface HttpRequest {
  /** `https://host[:port]`, or `http://…` for plain text (HTTP/2 by prior knowledge). */
  readonly origin: string;
  readonly path: string;
  /** Default: POST. */
  readonly method?: string;
  /** Lower-case names, valid in both versions: no pseudo-headers and no hop-by-hop headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** True if the response may take minutes. HTTP/1.1 then uses a separate set of sockets. */
  readonly isLongLived?: boolean;
  /** True if {@link HttpExchange.end} may bring trailers. HTTP/2 must know before. */
  readonly mayHaveTrailers?: boolean;
  /** True if the body goes on after the end of the response, up to {@link HttpExchange.end}. HTTP/2 only. */
  readonly outlastsResponse?: boolean;
  /** The id of the client's request that it is made for. It is not sent. */
  readonly requestId?: string | undefined;
}

export interface HttpExchange {
  /** Queues a piece of the request's body. False: wait for {@link HttpHandler.drain}. */
  write(chunk: Uint8Array): boolean;
  /** Trailers need {@link HttpRequest.mayHaveTrailers}. HTTP/1.1 drops them if the body has a `content-length`. */
  end(trailers?: Readonly<Record<string, string>>): void;
  /** Stops reading, so that flow control stops the peer. */
  pause(): void;
  resume(): void;
  /** Aborts the exchange. The handler is not called any more. */
  abort(): void;
}

export interface ResponseHead {
  readonly status: number;
  /** Lower-case names; repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The values of `set-cookie`, which cannot be joined. */
  readonly cookies?: readonly string[] | undefined;
}

/** Called in this order: `head`, `data` repeatedly, perhaps `trailers`, `end`. `fail` may replace any of them, and is the last. */
export interface HttpHandler {
  head(head: ResponseHead): void;
  /** The bytes are not overwritten, but keep their read buffer alive. */
  data(chunk: Uint8Array): void;
  drain?(): void;
  /** Comes before `end`, if the response has trailers. */
  trailers?(trailers: Readonly<Record<string, string>>): void;
  /** The response is complete as far as HTTP can tell. */
  end(): void;
  /** `reached` as in `RunEnd`: false only if the peer cannot have seen the request. */
  fail(error: ExcursorError, reached: boolean): void;
}

export function plainHeaders(headers: NodeJS.Dict<string | string[] | number>): Readonly<Record<string, string>> {
  const plain: Record<string, string> = Object.create(null);
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || name.startsWith(":")) continue;
    plain[name] = Array.isArray(value) ? value.join(", ") : String(value);
  }
  return plain;
}

export function parseOrigin(origin: string): URL {
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw new ExcursorError("invalid_origin");
}
