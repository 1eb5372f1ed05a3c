import { ExcursorError } from "../core/errors.ts";
import type { GatewayExchange } from "../server/gateway-exchange.ts";
import { INDEX, loadUiFiles, type UiFile, type UiFiles } from "./ui-files.ts";

/** Nothing but the page's own files runs or loads, and nothing inline (SEC-46). */
const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  // The browser asks each time, and is told that nothing has changed.
  "cache-control": "no-cache",
};

export type SendPage = (exchange: GatewayExchange, path: string, status?: number) => Promise<void>;

/** Returns a function that sends a file of the page. Every path without a file gets the start page. */
export function createPageSender(load: () => Promise<UiFiles> = loadUiFiles): SendPage {
  let loading: Promise<UiFiles> | undefined;
  return async (exchange, path, status = 200) => {
    loading ??= load();
    // A failed build is tried again with the next request.
    loading.catch(() => {
      loading = undefined;
    });
    const files = await loading;
    const file = files.get(path) ?? (path.includes(".") ? undefined : files.get(INDEX));
    if (!file) throw new ExcursorError("unknown_path", [], { hint: null });
    send(exchange, file, status);
  };
}

function send({ request, response }: GatewayExchange, file: UiFile, status: number): void {
  const { contentType, etag, bytes, gzip } = file;
  const takesGzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const body = takesGzip ? gzip : bytes;
  const headers = { ...HEADERS, "x-content-type-options": "nosniff", etag, vary: "accept-encoding" };
  if (status === 200 && request.headers["if-none-match"] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  response.writeHead(status, {
    ...headers,
    "content-type": contentType,
    "content-length": body.length,
    ...(takesGzip && { "content-encoding": "gzip" }),
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
