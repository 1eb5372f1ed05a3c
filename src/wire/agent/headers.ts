import { ExcursorError } from "../../core/errors.ts";

export interface Caller {
  /** The account's access token. Must not reach any message, context or log. */
  readonly token: string;
  /** The backend refuses old versions, with various errors. Default: {@link DEFAULT_CLIENT_VERSION}. */
  readonly clientVersion?: string;
  readonly clientType?: "cli" | "ide" | "sdk";
  /** Privacy mode of the account. True unless it is known to be off. */
  readonly ghostMode?: boolean;
  /** UUID v4, new for each attempt. Over HTTP/1.1 it also joins the two halves of a run. */
  readonly requestId?: string;
  /** On a retry, the first attempt's request id. */
  readonly originalRequestId?: string;
  /** IANA name. */
  readonly timezone?: string;
  /** See `checksum.ts`. Default: none. */
  readonly checksum?: string;
  /**
   * Lets the backend compress single messages. Decompressing costs more than a token, so this is only for slow links.
   */
  readonly acceptGzip?: boolean;
}

/** The part of the headers that comes from the settings. */
export type ClientHeaders = Pick<Caller, "clientVersion" | "checksum">;

export const DEFAULT_CLIENT_VERSION = "cli-2026.07.23-e383d2b";

/** `run` is the bidirectional call, `run-sse` and `append` the two halves of its HTTP/1.1 form. */
export type CallKind = "run" | "run-sse" | "append" | "unary-proto" | "unary-json";

const CONTENT_TYPES: Readonly<Record<CallKind, string>> = {
  run: "application/connect+proto",
  "run-sse": "application/connect+proto",
  append: "application/proto",
  "unary-proto": "application/proto",
  "unary-json": "application/json",
};

export function callHeaders(kind: CallKind, caller: Caller): Readonly<Record<string, string>> {
  const isStream = kind === "run" || kind === "run-sse";
  const headers: Record<string, string> = {
    authorization: visible("authorization", `Bearer ${caller.token}`),
    "content-type": CONTENT_TYPES[kind],
    "connect-protocol-version": "1",
    "x-cursor-client-version": visible("x-cursor-client-version", caller.clientVersion ?? DEFAULT_CLIENT_VERSION),
    "x-cursor-client-type": caller.clientType ?? "cli",
    "x-ghost-mode": String(caller.ghostMode ?? true),
  };
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined) headers[name] = visible(name, value);
  };
  add("x-request-id", caller.requestId);
  add("x-cursor-timezone", caller.timezone);
  add("x-cursor-checksum", caller.checksum);
  if (kind === "run-sse" || kind === "append") headers["x-cursor-streaming"] = "true";
  if (isStream) add("x-original-request-id", caller.originalRequestId);
  if (isStream && caller.acceptGzip) headers["connect-accept-encoding"] = "gzip";
  if (!isStream) headers["accept-encoding"] = "gzip";
  return headers;
}

/** Node rejects such a header too, but its message contains the value, which may be the token. */
function visible(name: string, value: string): string {
  if (/^[\x20-\x7e]+$/.test(value)) return value;
  throw new ExcursorError("invalid_header", [name], {
    hint: name === "authorization" ? "Copy the token again, without line breaks." : "Use printable ASCII only.",
    context: { header: name },
  });
}
