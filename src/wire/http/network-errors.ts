import { ExcursorError } from "../../core/errors.ts";
import type { Meaning } from "../agent/cursor-errors.ts";

/** The meaning of Node's network errors. Messages may name the host, and nothing else of the request. */

interface NetworkMeaning extends Meaning {
  readonly message: string;
  readonly code: string;
}

const unavailable = (code: string, message: string, hint?: string): NetworkMeaning => ({
  kind: "upstream-unavailable",
  code,
  message,
  ...(hint !== undefined && { hint }),
});

/** Not retryable: a retry does not change a certificate. */
const untrusted = (code: string, message: string): NetworkMeaning => ({
  ...unavailable(code, message, "Check the clock of this machine, and whether a proxy decrypts TLS."),
  retryable: false,
});

const DNS = unavailable("dns_failure", "cannot be found", "Check the name and this machine's network.");
const UNREACHABLE = unavailable(
  "unreachable",
  "cannot be reached from this network",
  "Check this machine's network, its VPN and its firewall.",
);
const RESET = unavailable("connection_reset", "closed the connection");
const UNKNOWN_CA = untrusted("tls_untrusted", "has a certificate that this machine does not trust");

const BY_NODE_CODE: Readonly<Record<string, NetworkMeaning>> = {
  ENOTFOUND: DNS,
  EAI_AGAIN: DNS,
  EAI_FAIL: DNS,
  EAI_NODATA: DNS,
  EAI_NONAME: DNS,
  ECONNREFUSED: unavailable("connection_refused", "refuses connections", "Check the address and the port."),
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  EADDRNOTAVAIL: UNREACHABLE,
  ECONNRESET: RESET,
  ECONNABORTED: RESET,
  EPIPE: RESET,
  ERR_STREAM_PREMATURE_CLOSE: RESET,
  ETIMEDOUT: {
    kind: "timeout",
    code: "connect_timeout",
    message: "did not answer in time",
    hint: "Check the address, and whether a firewall or a proxy is in between.",
  },
  CERT_HAS_EXPIRED: untrusted("tls_expired", "has an expired certificate"),
  CERT_NOT_YET_VALID: untrusted("tls_expired", "has a certificate that is not valid yet"),
  ERR_TLS_CERT_ALTNAME_INVALID: untrusted("tls_wrong_name", "has a certificate for another name"),
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: {
    kind: "upstream-protocol",
    code: "http2_unavailable",
    message: "does not support HTTP/2",
    hint: "Use the HTTP/1.1 transport for this host.",
  },
  HPE_HEADER_OVERFLOW: {
    kind: "upstream-protocol",
    code: "headers_too_large",
    message: "answered with headers larger than allowed",
  },
};

/** Converts an error of a socket, a TLS handshake, a DNS query or an HTTP parser. */
export function fromNodeError(cause: unknown, origin: string): ExcursorError {
  if (cause instanceof ExcursorError) return cause;
  const nodeCode = String((cause as NodeJS.ErrnoException | null)?.code ?? "");
  const { kind, code, message, hint, retryable } = BY_NODE_CODE[nodeCode] ?? byFamily(nodeCode);
  return new ExcursorError(kind, `${hostOf(origin)} ${message}.`, {
    code,
    ...(hint !== undefined && { hint }),
    ...(retryable !== undefined && { retryable }),
    context: { host: hostOf(origin), ...(nodeCode && { nodeCode }) },
    cause,
  });
}

function byFamily(nodeCode: string): NetworkMeaning {
  if (/^(ERR_SSL_|ERR_TLS_|EPROTO|CERT_|UNABLE_TO_)/.test(nodeCode)) {
    return untrusted("tls_failure", "failed to negotiate TLS");
  }
  if (/^(HPE_|ERR_HTTP2_)/.test(nodeCode)) {
    return {
      kind: "upstream-protocol",
      code: "http_invalid",
      message: "does not support the requested HTTP version",
      hint: "Check the address, its scheme (http or https) and the transport.",
    };
  }
  return unavailable("connection_failed", "failed with a network error");
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
  return new ExcursorError("upstream-unavailable", `${hostOf(origin)} stopped answering.`, {
    code: "half_open",
    context: { host: hostOf(origin) },
  });
}

export function transportClosed(): ExcursorError {
  return new ExcursorError("upstream-unavailable", "Excursor is shutting down.", {
    code: "transport_closed",
    hint: "Try again once it is back.",
  });
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : "The backend";
}

const RESETS: ReadonlyArray<readonly [name: string, meaning: Meaning]> = [
  ["NO_ERROR", { kind: "upstream-unavailable" }],
  ["PROTOCOL_ERROR", { kind: "upstream-protocol" }],
  ["INTERNAL_ERROR", { kind: "upstream-failed" }],
  ["FLOW_CONTROL_ERROR", { kind: "upstream-protocol" }],
  ["SETTINGS_TIMEOUT", { kind: "upstream-unavailable" }],
  ["STREAM_CLOSED", { kind: "upstream-protocol" }],
  ["FRAME_SIZE_ERROR", { kind: "upstream-protocol" }],
  ["REFUSED_STREAM", { kind: "upstream-unavailable", code: "stream_refused" }],
  ["CANCEL", { kind: "upstream-unavailable" }],
  ["COMPRESSION_ERROR", { kind: "upstream-protocol" }],
  ["CONNECT_ERROR", { kind: "upstream-unavailable" }],
  ["ENHANCE_YOUR_CALM", { kind: "rate-limited" }],
  ["INADEQUATE_SECURITY", { kind: "upstream-protocol" }],
  [
    "HTTP_1_1_REQUIRED",
    { kind: "upstream-protocol", code: "http1_required", hint: "Use the HTTP/1.1 transport for this host." },
  ],
];

/** Converts the code with which the peer closed a stream or its connection before the response was complete. */
export function fromReset(http2Code: number, cause?: unknown): ExcursorError {
  const [name, meaning] = RESETS[http2Code] ?? [`${http2Code}`, { kind: "upstream-unavailable" } satisfies Meaning];
  return new ExcursorError(meaning.kind, `The backend closed the stream (${name}).`, {
    code: meaning.code ?? "stream_reset",
    ...(meaning.hint !== undefined && { hint: meaning.hint }),
    context: { http2Code, http2Name: name },
    cause,
  });
}
