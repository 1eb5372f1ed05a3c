import type { ErrorKind, ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { publicCode } from "../shared/errors/http-errors.ts";
import { retryHeaders } from "../shared/errors/retry-headers.ts";
import type { ErrorBody } from "../shared/face.ts";
import { THREAD_UNSUPPORTED } from "./request/refuse-thread.ts";

/**
 * Statuses and types of Anthropic's documentation (docs.anthropic.com/en/api/errors). It has no 410, 426, 499 and 501; those keep
 * the type of their class.
 */
const ERRORS = {
  "invalid-request": [400, "invalid_request_error"],
  "context-overflow": [400, "invalid_request_error"],
  unauthenticated: [401, "authentication_error"],
  "payment-required": [402, "billing_error"],
  forbidden: [403, "permission_error"],
  "not-found": [404, "not_found_error"],
  "model-not-found": [404, "not_found_error"],
  deprecated: [410, "invalid_request_error"],
  "too-large": [413, "request_too_large"],
  "outdated-client": [426, "invalid_request_error"],
  "rate-limited": [429, "rate_limit_error"],
  "quota-exhausted": [429, "rate_limit_error"],
  canceled: [499, "api_error"],
  internal: [500, "api_error"],
  unsupported: [501, "api_error"],
  "upstream-failed": [502, "api_error"],
  "upstream-protocol": [502, "api_error"],
  "upstream-unavailable": [529, "overloaded_error"],
  timeout: [504, "timeout_error"],
  config: [500, "api_error"],
  busy: [529, "overloaded_error"],
  io: [500, "api_error"],
} as const satisfies Record<ErrorKind, readonly [status: number, word: string]>;

/** Returns Anthropic's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  return {
    type: "error",
    error: {
      type: ERRORS[error.kind][1],
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

export const errorBody = (error: ExcursorError, requestId: string, status?: number): ErrorBody => ({
  status: status ?? ERRORS[error.kind][0],
  headers: retryHeaders(error),
  body: errorObject(error, requestId),
});

/** Claude Code compacts a conversation only if the message begins with these words. */
function words(error: ExcursorError, requestId: string): string {
  const message = errorMessage(error, requestId);
  return error.kind === "context-overflow" ? `prompt is too long: ${message}` : message;
}
