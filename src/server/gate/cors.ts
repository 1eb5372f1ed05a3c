import type { IncomingMessage, ServerResponse } from "node:http";
import { valuesOf } from "./header-values.ts";

const EXPOSED = [
  "retry-after",
  "retry-after-ms",
  "x-should-retry",
  "x-request-id",
  "request-id",
  "www-authenticate",
  "x-excursor-ignored",
  "x-excursor-model",
  "x-excursor-trimmed",
].join(", ");

/** Rejects everything that is not a list of header names, since it is echoed. */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/;
const MAX_AGE_S = 600;

/**
 * CORS for the configured origins: exact matches, without cookies. Pages need the key like any client; the gate decides
 * whether they may send a request.
 */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Sets the CORS headers. Refusals get them too, so that a page can read the error. */
  allowReading(request: IncomingMessage, response: ServerResponse): void {
    if (this.#origins.size === 0) return;
    response.setHeader("vary", "Origin");
    const origin = this.#originOf(request);
    if (origin === undefined) return;
    response.setHeader("access-control-allow-origin", origin);
    response.setHeader("access-control-expose-headers", EXPOSED);
  }

  /** True for a preflight request from a configured origin. */
  isPreflight(request: IncomingMessage): boolean {
    const { method, headers } = request;
    const isAsked = method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
    return isAsked && this.#originOf(request) !== undefined;
  }

  answerPreflight({ headers }: IncomingMessage, response: ServerResponse): void {
    const asked = headers["access-control-request-headers"] ?? "";
    const asksForNetwork = headers["access-control-request-private-network"] === "true";
    response.writeHead(204, {
      "access-control-allow-methods": "GET, POST, DELETE",
      // Clients add headers of their own (`x-stainless-…`), and a wildcard does not cover `authorization`.
      ...(HEADER_NAMES.test(asked) && { "access-control-allow-headers": asked }),
      "access-control-max-age": String(MAX_AGE_S),
      ...(asksForNetwork && { "access-control-allow-private-network": "true" }),
    });
    response.end();
  }

  #originOf(request: IncomingMessage): string | undefined {
    const [origin, ...others] = valuesOf(request, "origin");
    return origin !== undefined && others.length === 0 && this.#origins.has(origin) ? origin : undefined;
  }
}
