import { ExcursorError } from "../../core/errors.ts";
import { CONNECT_CODES, type Meaning, OUTDATED } from "../agent/cursor-errors.ts";
import { fromConnectError, type Metadata } from "../connect/connect-error.ts";
import type { ResponseHead } from "./http.ts";

/** The meaning of responses with a status other than 200. */

const BY_STATUS: Readonly<Record<number, Meaning>> = {
  400: { kind: "invalid-request" },
  401: CONNECT_CODES.unauthenticated,
  402: { kind: "payment-required" },
  403: { kind: "forbidden" },
  404: { kind: "not-found", hint: "Check the upstream address. Another service may be running there." },
  408: { kind: "timeout" },
  409: { kind: "invalid-request" },
  410: { kind: "deprecated" },
  413: { kind: "too-large" },
  415: {
    kind: "upstream-protocol",
    code: "media_type_refused",
    hint: "The backend uses another protocol than this client. Update Excursor, or check the upstream address.",
  },
  426: OUTDATED,
  429: { kind: "rate-limited" },
  431: { kind: "too-large", code: "headers_refused" },
  464: {
    kind: "upstream-protocol",
    code: "http2_required",
    hint: "This host only accepts agent runs over HTTP/2. Use HTTP/2, or RunSSE with BidiAppend on another host.",
  },
  499: { kind: "canceled" },
  501: { kind: "unsupported" },
  503: { kind: "upstream-unavailable" },
  504: { kind: "timeout" },
};

function byStatus(status: number): Meaning {
  const known = BY_STATUS[status];
  if (known) return known;
  if (status >= 300 && status < 400) {
    return {
      kind: "upstream-protocol",
      code: "redirected",
      hint: "Redirects are not followed, because they would send the token to another host. Check the upstream address.",
    };
  }
  return status >= 500 ? { kind: "upstream-failed" } : { kind: "upstream-protocol", code: "unexpected_status" };
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
  return new ExcursorError("upstream-protocol", `The backend answered with ${contentType} instead of its protocol.`, {
    code: "unexpected_content_type",
    hint: "Check the upstream address, and whether there is a proxy in between.",
    context: { status, contentType },
  });
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
