import { type ErrorKind, ExcursorError } from "../../../core/errors.ts";
import type { ResponseHead } from "../../../wire/http/http.ts";
import { parseRetryAfter } from "../../../wire/http/retry-after.ts";
import { jsonObject } from "../../../wire/json.ts";
import type { ApiEndpoint } from "./api-endpoint.ts";

/** The code of a loop. Gateways in between may pass it on. */
const GATEWAY_LOOP = "gateway_loop";

/** OpenAI's codes and types and Anthropic's types. */
const BY_WORD: ReadonlyMap<string, ErrorKind> = new Map(
  Object.entries<ErrorKind>({
    context_length_exceeded: "context-overflow",
    invalid_api_key: "unauthenticated",
    authentication_error: "unauthenticated",
    permission_error: "forbidden",
    permission_denied: "forbidden",
    billing_error: "payment-required",
    payment_required: "payment-required",
    insufficient_quota: "quota-exhausted",
    model_not_found: "model-not-found",
    not_found_error: "model-not-found",
    request_too_large: "too-large",
    rate_limit_error: "rate-limited",
    rate_limit_exceeded: "rate-limited",
    overloaded_error: "upstream-unavailable",
    upstream_unavailable: "upstream-unavailable",
    timeout_error: "timeout",
    timeout: "timeout",
    api_error: "upstream-failed",
    server_error: "upstream-failed",
    upstream_error: "upstream-failed",
    invalid_request_error: "invalid-request",
  }),
);

const BY_STATUS: Readonly<Record<number, ErrorKind>> = {
  400: "invalid-request",
  401: "unauthenticated",
  402: "payment-required",
  403: "forbidden",
  404: "not-found",
  408: "timeout",
  409: "invalid-request",
  413: "too-large",
  422: "invalid-request",
  429: "rate-limited",
  501: "unsupported",
  503: "upstream-unavailable",
  504: "timeout",
  529: "upstream-unavailable",
};

const TOO_LONG = /prompt is too long|context (?:length|window|size)|too many (?:input )?tokens/i;

const MAX_MESSAGE_LENGTH = 500;

/** Converts an upstream's error, from the body of a response or from within a stream. */
export function apiError(said: unknown, host: string, head?: ResponseHead): ExcursorError {
  const { type, code, message } = wordsIn(said);
  if (code === GATEWAY_LOOP) return loopBehind(host);
  const kind = kindOf([code, type], message, head?.status);
  const retryAfterMs = parseRetryAfter(head?.headers["retry-after"]);
  return new ExcursorError(
    kind === "unauthenticated" ? "upstream_key_refused" : kind,
    describe(kind, host, message, head?.status),
    {
      ...(head &&
        head.status >= 300 &&
        head.status < 400 && { hint: "Redirects are not followed. Check the base URL." }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      context: { host, ...(head && { status: head.status }), ...(type !== "" && { type: type.slice(0, 64) }) },
    },
  );
}

type RefusingEndpoint = Pick<ApiEndpoint, "origin" | "hop">;

const LOOP_DETECTED = 508;

const loopError = (entry: string, host: string): ExcursorError =>
  new ExcursorError(GATEWAY_LOOP, `models → ${entry}: ${host} leads back to this gateway.`, {
    hint: "Set the baseURL of this entry to another server, or remove the entry from the setting `models`.",
  });

/** The error for a loop that another gateway found. The wrong entry may be in either gateway's settings. */
const loopBehind = (host: string): ExcursorError =>
  new ExcursorError(GATEWAY_LOOP, `${host} leads back to a gateway that this request has already passed.`, {
    kind: "upstream-failed",
    retryable: false,
    hint: "Correct the baseURL of the entry in the setting `models`, here or at that gateway.",
    context: { host },
  });

/** Converts a failed response with any body. */
export function refusedCall(head: ResponseHead, body: Buffer, { origin, hop }: RefusingEndpoint): ExcursorError {
  const { host } = new URL(origin);
  if (hop && head.status === LOOP_DETECTED) return loopError(hop.entry, host);
  let said: unknown;
  try {
    said = JSON.parse(body.toString("utf8"));
  } catch {
    // The status decides then.
  }
  return apiError(said, host, head);
}

/** Reads `{error: {type, code, message}}`. Some servers have only a string there. */
function wordsIn(said: unknown): { readonly type: string; readonly code: string; readonly message: string } {
  const error = jsonObject<"error">(said)?.error;
  if (typeof error === "string") return { type: "", code: "", message: error };
  const { type, code, message } = jsonObject<"type" | "code" | "message">(error) ?? {};
  return { type: textOf(type), code: textOf(code), message: textOf(message) };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function kindOf(words: readonly string[], message: string, status: number | undefined): ErrorKind {
  const named = words.map((word) => BY_WORD.get(word)).find((kind) => kind !== undefined);
  const kind = named ?? byStatus(status);
  if ((kind === "invalid-request" || kind === "too-large") && TOO_LONG.test(message)) return "context-overflow";
  return kind === "not-found" && /model/i.test(message) ? "model-not-found" : kind;
}

function byStatus(status: number | undefined): ErrorKind {
  if (status === undefined) return "upstream-failed";
  return BY_STATUS[status] ?? (status >= 500 ? "upstream-failed" : "upstream-protocol");
}

/** Returns the message. Some upstreams quote a refused key, so their text is not used then. */
function describe(kind: ErrorKind, host: string, message: string, status: number | undefined): string {
  if (kind === "unauthenticated") return `${host} rejected the gateway's key.`;
  if (message !== "") return `${host} answered: ${message.slice(0, MAX_MESSAGE_LENGTH)}`;
  return status === undefined ? `${host} failed.` : `${host} answered with HTTP status ${status}.`;
}
