import { ExcursorError } from "../core/errors.ts";
import { awaitedLater } from "../core/ignored-failures.ts";
import type { Log } from "../observe/log.ts";
import type { GatewayExchange } from "../server/gateway-exchange.ts";
import { INDEX, isOutdated, loadUiFiles, type UiFile, type UiFiles } from "./ui-files.ts";

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

const BUNDLING = "Bundling the page of the dashboard, once. Answers do not wait for it.";

export type SendPage = (exchange: GatewayExchange, path: string, status?: number) => Promise<void>;

/**
 * Returns a function that sends a file of the page. Every path without a file gets the start page. In a checkout whose page
 * is not bundled, bundles it at once.
 */
export function createPageSender(log: Pick<Log, "info" | "warn">): SendPage {
  let loading: Promise<UiFiles> | undefined;
  const load = (): Promise<UiFiles> => {
    loading ??= loadUiFiles(() => log.info({}, BUNDLING)).catch((thrown) => {
      const error = ExcursorError.from(thrown);
      log.warn({}, `${error.message} ${error.hint ?? ""}`);
      // The next request tries again.
      loading = undefined;
      throw error;
    });
    return loading;
  };
  if (isOutdated()) void awaitedLater(load());
  return async (exchange, path, status = 200) => {
    const files = await load();
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
