import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../refusal.ts";
import { valuesOf } from "./header-values.ts";
import { checkPeer, knowsPeers } from "./peer-user.ts";

/**
 * A listener that a page of one program calls, beside programs of the same user (SEC-45). The page's origin is exact and
 * no secret: the token is what counts. The header is one that no page can send without asking leave first, and leave is
 * given to that origin only.
 */
export interface PageAccess {
  readonly origin: string;
  /** Must come with every request, whatever it says. */
  readonly header: string;
  /** Requests of the page itself need neither key nor header. Only where the user of the peer is known. */
  readonly isKeyless?: boolean | undefined;
}

const MAX_AGE_S = 600;

export function checkPage(request: IncomingMessage, page: PageAccess): void {
  const { header } = page;
  checkPeer(request);
  // The question for leave cannot bring it yet.
  if (request.method === "OPTIONS" || valuesOf(request, header).length > 0 || needsNoKey(request, page)) return;
  throw new Refusal(403, "forbidden", `The header ${header} is missing.`, { code: "missing_header" });
}

/**
 * Whether a request is from the page itself, and that is enough. A browser sets the origin and no page can change it;
 * a program of the same user could read the key, too.
 */
export function needsNoKey(request: IncomingMessage, { origin, isKeyless = false }: PageAccess): boolean {
  const given = valuesOf(request, "origin");
  return isKeyless && knowsPeers() && given.length === 1 && given[0] === origin;
}

/** Lets the page read the answer. To all others nothing is said. */
export function allowReading(request: IncomingMessage, response: ServerResponse, { origin }: PageAccess): void {
  if (request.headers.origin !== origin) return;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "Origin");
}

/** A browser asks whether the page may send what it wants to. */
export function answerPreflight(request: IncomingMessage, response: ServerResponse, page: PageAccess): void {
  if (request.headers.origin !== page.origin) {
    throw new Refusal(403, "forbidden", "Only the page that this is for may ask.", { code: "foreign_origin" });
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
