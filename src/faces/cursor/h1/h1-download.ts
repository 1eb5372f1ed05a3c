import { ExcursorError } from "../../../core/errors.ts";
import { BodyCollector } from "../../../wire/connect/body.ts";
import { encodeFrame, FLAG_END } from "../../../wire/connect/envelope.ts";
import { mediaType } from "../../../wire/http/http-errors.ts";
import type { ServerExchange } from "../../../wire/http/server-exchange.ts";
import { failureOf, respondError } from "../errors.ts";
import { type Backend, breakOff, type Held, pipe, type RelayHandler, requestHeaders } from "../relay.ts";

const MAX_ERROR_BYTES = 256 * 1024;

/** Sends the headers of a stream before it is known who answers it. */
export function openEarly(exchange: ServerExchange): void {
  const type = mediaType(exchange.header("content-type"));
  const takesGzip = /\bgzip\b/.test(exchange.header("connect-accept-encoding") ?? "");
  exchange.open(200, { "content-type": type, ...(takesGzip && { "connect-content-encoding": "gzip" }) });
}

/** Passes on the backend's stream below headers of ours. An error of the backend's becomes the end of the stream. */
export function relayIntoOpen(exchange: ServerExchange, backend: Backend, held: Held): void {
  const { "connect-accept-encoding": encodings = "", ...headers } = requestHeaders(exchange);
  const accepted = /\bgzip\b/.test(encodings) ? { "connect-accept-encoding": "gzip" } : {};
  let hasBegun = false;
  const handler: RelayHandler = {
    head({ status }) {
      hasBegun = status === 200;
      if (hasBegun) return undefined;
      const body = new BodyCollector(MAX_ERROR_BYTES);
      return {
        data: (chunk) => void body.push(chunk),
        end: () => exchange.end(encodeFrame(endFrameOf(status, body.bytes()), FLAG_END)),
      };
    },
    fail(error) {
      if (hasBegun) breakOff(exchange, error);
      else endWith(exchange, error);
    },
  };
  pipe(exchange, backend, held, handler, { ...headers, ...accepted });
}

/** The body of a failed call has the same error as an end frame would. */
function endFrameOf(status: number, body: Buffer): Buffer {
  try {
    const error = JSON.parse(body.toString("utf8")) as unknown;
    if (typeof error === "object" && error !== null && "code" in error) return Buffer.from(JSON.stringify({ error }));
  } catch {
    // It is no Connect error.
  }
  const error = new ExcursorError("upstream-failed", `Cursor's backend answered with HTTP status ${status}.`);
  return failureOf(error).toEndFrame();
}

/** Ends a stream with an error, whether its headers are out or not. */
export function endWith(exchange: ServerExchange, error: ExcursorError): void {
  if (exchange.hasResponded) exchange.end(encodeFrame(failureOf(error).toEndFrame(), FLAG_END));
  else respondError(exchange, error);
}
