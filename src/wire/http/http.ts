import { ExcursorError } from "../../core/errors.ts";

/**
 * HTTP as the rest of this folder sees it: one request and its response as two streams of bytes, the same for both
 * versions of HTTP. Callbacks, as in {@link file://./run-stream.ts}, for the same reason.
 */
export interface HttpTransport {
  /** Starts an exchange. Its handler hears nothing before this returns. */
  open(request: HttpRequest, handler: HttpHandler): HttpExchange;
  /** Opens a connection ahead of the next exchange, where the transport can. A failure is left to that exchange. */
  connect?(origin: string): void;
  /** Takes no new exchanges and resolves when the open ones are over. */
  close(): Promise<void>;
  /** Cuts everything now. */
  destroy(): void;
}

export interface HttpRequest {
  /** `https://host[:port]`, or `http://…` for plain text (HTTP/2 then by prior knowledge). */
  readonly origin: string;
  readonly path: string;
  /** Default: POST. */
  readonly method?: "GET" | "POST";
  /** Lower-case names, valid in both versions: no pseudo and no hop-by-hop headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The response may go on for minutes. HTTP/1.1 keeps such exchanges from using up the sockets of short ones. */
  readonly isLongLived?: boolean;
}

export interface HttpExchange {
  /** Queues a piece of the request's body. False means "enough for now": wait for {@link HttpHandler.drain}. */
  write(chunk: Uint8Array): boolean;
  /** The request's body is complete. */
  end(): void;
  /** Stops reading, so that the peer has to stop as well. */
  pause(): void;
  resume(): void;
  /** Drops the exchange now. The handler hears nothing more. */
  abort(): void;
}

export interface ResponseHead {
  readonly status: number;
  /** Lower-case names; repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
}

/** `head`, then `data`s, then `end`; or `fail` instead of whatever would come next. `end` and `fail` are the last. */
export interface HttpHandler {
  head(head: ResponseHead): void;
  /** The bytes stay as they are; keeping them keeps the read buffer that they are part of. */
  data(chunk: Uint8Array): void;
  drain?(): void;
  /** The response is complete as far as HTTP can tell. */
  end(): void;
  /** `reached` as in {@link file://./run-stream.ts RunEnd}: false only if the peer cannot have seen the request. */
  fail(error: ExcursorError, reached: boolean): void;
}

/** Node's headers, of either version, as ours. */
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
  throw new ExcursorError("config", "The upstream address is not an http or https address.", {
    code: "invalid_origin",
    hint: "Give it as https://host or https://host:port.",
  });
}
