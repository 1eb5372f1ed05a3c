import { callHttp } from "../../wire/http/http-call.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";
import { wireLimits } from "../../wire/limits.ts";
import { type Backend, passedOn, requestHeaders, requestTo, setCookie } from "./relay.ts";

/** The largest request of a call whose answer is changed here. */
const MAX_REQUEST_BYTES = 1024 * 1024;

export interface WholeResponse {
  readonly status: number;
  readonly body: Buffer;
  /** Passes the answer on, with this body in place of the backend's. */
  respond(body?: Uint8Array): void;
}

/** Makes a client's call to the backend and returns the whole answer. Rejects if there is none. */
export async function callWhole(exchange: ServerExchange, backend: Backend): Promise<WholeResponse> {
  const body = await exchange.readBody(MAX_REQUEST_BYTES);
  const { "content-length": _, ...headers } = requestHeaders(exchange);
  const controller = new AbortController();
  exchange.onOver((wasCut) => wasCut && controller.abort());
  const answer = await callHttp({
    transport: backend.transports[exchange.transport],
    // A change needs the plain text.
    request: requestTo(exchange, backend, { ...headers, "accept-encoding": "identity" }),
    ...(body.length > 0 && { body }),
    limits: wireLimits(),
    signal: controller.signal,
  });
  const { status, cookies } = answer.head;
  return {
    status,
    body: answer.body,
    respond(changed = answer.body) {
      const { "content-encoding": __, "content-length": ___, ...passed } = passedOn(answer.head.headers);
      exchange.respond(status, changed, { ...passed, ...setCookie(cookies) });
    },
  };
}
