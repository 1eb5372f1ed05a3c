import { ExcursorError } from "../../core/errors.ts";
import { CONNECT_CODES, type Meaning, OUTDATED } from "../agent/cursor-errors.ts";
import { fromConnectError, type Metadata } from "../connect/connect-error.ts";
import type { ResponseHead } from "./http.ts";

/** The meaning of responses with a status other than 200. */

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  400: { error: "invalid-request" },
  401: CONNECT_CODES.unauthenticated,
  402: { error: "payment-required" },
  403: { error: "forbidden" },
  404: { error: "not-found", hint: "Check the upstream address. Another service may be running there." },
  408: { error: "timeout" },
  409: { error: "invalid-request" },
  410: { error: "deprecated" },
  413: { error: "too-large" },
  415: {
    error: "media_type_refused",
  },
  426: OUTDATED,
  429: { error: "rate-limited" },
  431: { error: "headers_refused" },
  464: { error: "http2_required" },
  499: { error: "canceled" },
  501: { error: "unsupported" },
  503: { error: "upstream-unavailable" },
  504: { error: "timeout" },
};

function byStatus(status: number): Meaning {
  const known = BY_STATUS[status];
  if (known) return known;
  if (status >= 300 && status < 400) return { error: "redirected" };
  return status >= 500 ? { error: "upstream-failed" } : { error: "unexpected_status" };
}

/** Converts a response with a status other than 200. A Connect error in the body takes precedence over the status. */
export function fromFailedResponse({ status, headers }: ResponseHead, body: Uint8Array): ExcursorError {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8");
  const contentType = mediaType(headers["content-type"]);
  const metadata: Metadata = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
  const said = parseJson(text);
  return fromConnectError(said ?? { message: describe(status, contentType) }, {
    metadata,
    fallback: byStatus(status),
    context: { status, ...(contentType && { contentType }) },
  });
}

/** Returns the error for a 200 of an unexpected type: a proxy's page, another service, a wrong path. */
export function wrongContentType({ status, headers }: ResponseHead): ExcursorError {
  const contentType = mediaType(headers["content-type"]) || "nothing";
  return new ExcursorError("unexpected_content_type", [contentType], { context: { status, contentType } });
}

export function mediaType(contentType: string | undefined): string {
  return (contentType?.split(";", 1)[0] ?? "").trim().toLowerCase().slice(0, 80);
}

function describe(status: number, contentType: string): string {
  const page = contentType === "text/html" ? " and a web page" : "";
  return `The backend answered with HTTP status ${status}${page}.`;
}

function parseJson(text: string): unknown {
  if (!text.trimStart().startsWith("{")) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
