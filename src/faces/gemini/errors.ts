import type { ErrorKind, ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { httpStatus, publicCode } from "../shared/errors/http-errors.ts";
import { retryHeaders } from "../shared/errors/retry-headers.ts";
import type { ErrorBody } from "../shared/face.ts";

const STATUSES = {
  "invalid-request": "INVALID_ARGUMENT",
  "context-overflow": "INVALID_ARGUMENT",
  unauthenticated: "UNAUTHENTICATED",
  "payment-required": "FAILED_PRECONDITION",
  forbidden: "PERMISSION_DENIED",
  "not-found": "NOT_FOUND",
  "model-not-found": "NOT_FOUND",
  deprecated: "FAILED_PRECONDITION",
  "too-large": "INVALID_ARGUMENT",
  "outdated-client": "FAILED_PRECONDITION",
  "rate-limited": "RESOURCE_EXHAUSTED",
  "quota-exhausted": "RESOURCE_EXHAUSTED",
  canceled: "CANCELLED",
  internal: "INTERNAL",
  unsupported: "UNIMPLEMENTED",
  "upstream-failed": "INTERNAL",
  "upstream-protocol": "INTERNAL",
  "upstream-unavailable": "UNAVAILABLE",
  timeout: "DEADLINE_EXCEEDED",
  config: "INTERNAL",
  busy: "UNAVAILABLE",
  io: "INTERNAL",
} as const satisfies Record<ErrorKind, string>;

const TYPE = "type.googleapis.com/google.rpc";

/** Returns Google's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  const { kind, field, retryAfterMs } = error;
  const message = errorMessage(error, requestId);
  const details = [
    { "@type": `${TYPE}.ErrorInfo`, reason: publicCode(error).toUpperCase(), domain: "excursor" },
    ...(field === undefined
      ? []
      : [{ "@type": `${TYPE}.BadRequest`, fieldViolations: [{ field, description: error.message }] }]),
    ...(retryAfterMs === undefined
      ? []
      : [{ "@type": `${TYPE}.RetryInfo`, retryDelay: `${Math.ceil(retryAfterMs / 1000)}s` }]),
  ];
  return { error: { code: httpStatus(kind), message, status: STATUSES[kind], details } };
}

export const errorBody = (error: ExcursorError, requestId: string): ErrorBody => ({
  status: httpStatus(error.kind),
  headers: retryHeaders(error),
  body: errorObject(error, requestId),
});
