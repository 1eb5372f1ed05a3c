import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../refusal.ts";
import { valuesOf } from "./header-values.ts";
import { knowsPeers } from "./peer-user.ts";

/**
 * Access rules of a listener for one page, and for programs of the same user (SEC-45). The origin is not a secret; the
 * key protects the listener. The header forces a browser to send a preflight, and only this origin passes that.
 */
export interface PageAccess {
  readonly origin: string;
  /** A header that every request must have, with any value. */
  readonly header: string;
  /** Lets the page's own requests pass without key and header. Has no effect where the user of the peer is unknown. */
  readonly isKeyless?: boolean | undefined;
}

const MAX_AGE_S = 600;

export function checkPage(request: IncomingMessage, page: PageAccess): void {
  const { header } = page;
  // A preflight cannot carry the header.
  if (request.method === "OPTIONS" || valuesOf(request, header).length > 0 || needsNoKey(request, page)) return;
  throw new Refusal(403, "missing_header", [header]);
}

/**
 * True if the request comes from the page itself and that is enough. Pages cannot forge the origin; a program of the
 * same user can, but could read the key as well.
 */
export function needsNoKey(request: IncomingMessage, { origin, isKeyless = false }: PageAccess): boolean {
  const given = valuesOf(request, "origin");
  return isKeyless && knowsPeers() && given.length === 1 && given[0] === origin;
}

export function allowReading(request: IncomingMessage, response: ServerResponse, { origin }: PageAccess): void {
  if (request.headers.origin !== origin) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "Origin");
}

export function answerPreflight(request: IncomingMessage, response: ServerResponse, page: PageAccess): void {
  if (request.headers.origin !== page.origin) {
    throw new Refusal(403, "foreign_origin", "Only pages of the editor may use this.");
  }
  const asksForNetwork = request.headers["access-control-request-private-network"] === "true";
  response.writeHead(204, {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": `authorization, content-type, ${page.header}`,
    "access-control-max-age": String(MAX_AGE_S),
    ...(asksForNetwork && { "access-control-allow-private-network": "true" }),
  });
  response.end();
}
