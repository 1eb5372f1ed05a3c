import type { ErrorKind, ExcursorError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/turn.ts";
import { errorMessage } from "../errors/error-message.ts";
import { httpStatus, publicCode } from "../errors/http-errors.ts";
import { retryHeaders } from "../errors/retry-headers.ts";
import type { ErrorBody } from "../face.ts";

const TYPES = {
  "invalid-request": "invalid_request_error",
  "context-overflow": "invalid_request_error",
  unauthenticated: "authentication_error",
  "payment-required": "insufficient_quota",
  forbidden: "permission_error",
  "not-found": "invalid_request_error",
  "model-not-found": "invalid_request_error",
  deprecated: "invalid_request_error",
  "too-large": "invalid_request_error",
  "outdated-client": "invalid_request_error",
  "rate-limited": "rate_limit_error",
  "quota-exhausted": "insufficient_quota",
  canceled: "api_error",
  internal: "api_error",
  unsupported: "invalid_request_error",
  "upstream-failed": "api_error",
  "upstream-protocol": "api_error",
  "upstream-unavailable": "api_error",
  timeout: "api_error",
  config: "api_error",
  busy: "api_error",
  io: "api_error",
} as const satisfies Record<ErrorKind, string>;

/** Returns OpenAI's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  const message = errorMessage(error, requestId);
  return { error: { message, type: TYPES[error.kind], param: error.field ?? null, code: publicCode(error) } };
}

export function errorBody(error: ExcursorError, requestId: string): ErrorBody {
  return { status: httpStatus(error.kind), headers: retryHeaders(error), body: errorObject(error, requestId) };
}
