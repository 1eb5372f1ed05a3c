import type { ErrorCode } from "../../core/error-codes.ts";
import { type ErrorKind, type ErrorName, ExcursorError } from "../../core/errors.ts";

/** The meaning of Node's network errors. Messages may name the host, and nothing else of the request. */

const BY_NODE_CODE = {
  ENOTFOUND: "dns_failure",
  EAI_AGAIN: "dns_failure",
  EAI_FAIL: "dns_failure",
  EAI_NODATA: "dns_failure",
  EAI_NONAME: "dns_failure",
  ECONNREFUSED: "connection_refused",
  EHOSTUNREACH: "unreachable",
  ENETUNREACH: "unreachable",
  EADDRNOTAVAIL: "unreachable",
  ECONNRESET: "connection_reset",
  ECONNABORTED: "connection_reset",
  EPIPE: "connection_reset",
  ERR_STREAM_PREMATURE_CLOSE: "connection_reset",
  ETIMEDOUT: "connect_timeout",
  CERT_HAS_EXPIRED: "tls_expired",
  CERT_NOT_YET_VALID: "tls_expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "tls_wrong_name",
  DEPTH_ZERO_SELF_SIGNED_CERT: "tls_untrusted",
  SELF_SIGNED_CERT_IN_CHAIN: "tls_untrusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "tls_untrusted",
  UNABLE_TO_GET_ISSUER_CERT: "tls_untrusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "tls_untrusted",
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: "http2_unavailable",
  HPE_HEADER_OVERFLOW: "headers_too_large",
} as const satisfies Record<string, ErrorCode>;

/** Converts an error of a socket, a TLS handshake, a DNS query or an HTTP parser. */
export function fromNodeError(cause: unknown, origin: string): ExcursorError {
  if (cause instanceof ExcursorError) return cause;
  const nodeCode = String((cause as NodeJS.ErrnoException | null)?.code ?? "");
  const code = Object.hasOwn(BY_NODE_CODE, nodeCode)
    ? BY_NODE_CODE[nodeCode as keyof typeof BY_NODE_CODE]
    : byFamily(nodeCode);
  return new ExcursorError(code, [hostOf(origin)], {
    // A retry does not change a certificate.
    ...(code.startsWith("tls_") && { retryable: false }),
    context: { host: hostOf(origin), ...(nodeCode && { nodeCode }) },
    cause,
  });
}

function byFamily(nodeCode: string) {
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO|CERT_|UNABLE_TO_)/.test(nodeCode)) return "tls_failure";
  return /^(HPE_|ERR_HTTP2_)/.test(nodeCode) ? "http_invalid" : "connection_failed";
}

/** Returns the error for a connection that ended without a reason. */
export function connectionClosed(origin: string): ExcursorError {
  return fromNodeError(Object.assign(new Error("connection closed"), { code: "ECONNRESET" }), origin);
}

/** Whether the peer reset the TCP connection. An error of the socket names its system call; a connection that was closed has none. */
export const isTcpReset = ({ code, cause }: ExcursorError): boolean =>
  code === "connection_reset" && (cause as NodeJS.ErrnoException | undefined)?.syscall !== undefined;

export function connectTimeout(origin: string): ExcursorError {
  return fromNodeError(Object.assign(new Error("connect timeout"), { code: "ETIMEDOUT" }), origin);
}

export function headersTooLarge(origin: string): ExcursorError {
  return fromNodeError(Object.assign(new Error("headers too large"), { code: "HPE_HEADER_OVERFLOW" }), origin);
}

export function http2Unavailable(origin: string): ExcursorError {
  const code = "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL";
  return fromNodeError(Object.assign(new Error("ALPN did not select h2"), { code }), origin);
}

/** Returns the error for an unanswered PING: the connection is half open, and its streams are lost. */
export function halfOpen(origin: string): ExcursorError {
  return new ExcursorError("half_open", [hostOf(origin)], { context: { host: hostOf(origin) } });
}

export function transportClosed(): ExcursorError {
  return new ExcursorError("transport_closed");
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : "The backend";
}

const RESETS: ReadonlyArray<readonly [name: string, kind: ErrorKind, code?: ErrorName]> = [
  ["NO_ERROR", "upstream-unavailable"],
  ["PROTOCOL_ERROR", "upstream-protocol"],
  ["INTERNAL_ERROR", "upstream-failed"],
  ["FLOW_CONTROL_ERROR", "upstream-protocol"],
  ["SETTINGS_TIMEOUT", "upstream-unavailable"],
  ["STREAM_CLOSED", "upstream-protocol"],
  ["FRAME_SIZE_ERROR", "upstream-protocol"],
  ["REFUSED_STREAM", "upstream-unavailable", "stream_refused"],
  ["CANCEL", "upstream-unavailable"],
  ["COMPRESSION_ERROR", "upstream-protocol"],
  ["CONNECT_ERROR", "upstream-unavailable"],
  ["ENHANCE_YOUR_CALM", "rate-limited"],
  ["INADEQUATE_SECURITY", "upstream-protocol"],
  ["HTTP_1_1_REQUIRED", "upstream-protocol", "http1_required"],
];

/** Converts the code with which the peer closed a stream or its connection before the response was complete. */
export function fromReset(http2Code: number, cause?: unknown): ExcursorError {
  const [name, kind, code = "stream_reset"] = RESETS[http2Code] ?? [`${http2Code}`, "upstream-unavailable"];
  const context = { http2Code, http2Name: name };
  return new ExcursorError(code, `The backend closed the stream (${name}).`, { kind, context, cause });
}
