import type { ErrorKind, ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { httpStatus, publicCode } from "../shared/errors/http-errors.ts";
import { retryHeaders } from "../shared/errors/retry-headers.ts";
import type { ErrorBody } from "../shared/face.ts";
import { THREAD_UNSUPPORTED } from "./request/refuse-thread.ts";

const TYPES = {
  "invalid-request": "invalid_request_error",
  "context-overflow": "invalid_request_error",
  unauthenticated: "authentication_error",
  "payment-required": "permission_error",
  forbidden: "permission_error",
  "not-found": "not_found_error",
  "model-not-found": "not_found_error",
  deprecated: "invalid_request_error",
  "too-large": "request_too_large",
  "outdated-client": "invalid_request_error",
  "rate-limited": "rate_limit_error",
  "quota-exhausted": "rate_limit_error",
  canceled: "api_error",
  internal: "api_error",
  unsupported: "invalid_request_error",
  "upstream-failed": "api_error",
  "upstream-protocol": "api_error",
  "upstream-unavailable": "overloaded_error",
  timeout: "timeout_error",
  config: "api_error",
  busy: "overloaded_error",
  io: "api_error",
} as const satisfies Record<ErrorKind, string>;

/** Returns Anthropic's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  return {
    type: "error",
    error: {
      type: TYPES[error.kind],
      message: words(error, requestId),
      details: {
        error_code: publicCode(error),
        ...(error.field !== undefined && { field: error.field }),
        ...(error.code === THREAD_UNSUPPORTED && { unsupported: [] }),
      },
    },
    request_id: requestId,
  };
}

export function errorBody(error: ExcursorError, requestId: string): ErrorBody {
  return { status: httpStatus(error.kind), headers: retryHeaders(error), body: errorObject(error, requestId) };
}

/** Claude Code compacts a conversation only if the message begins with these words. */
function words(error: ExcursorError, requestId: string): string {
  const message = errorMessage(error, requestId);
  return error.kind === "context-overflow" ? `prompt is too long: ${message}` : message;
}
