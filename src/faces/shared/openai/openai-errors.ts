import type { ErrorKind, ExcursorError } from "../../../core/errors.ts";
import { errorMessage } from "../errors/error-message.ts";
import { publicCode } from "../errors/http-errors.ts";
import { retryHeaders } from "../errors/retry-headers.ts";
import type { ErrorBody } from "../face.ts";

/**
 * Statuses of OpenAI's documentation (platform.openai.com/docs/guides/error-codes), and types that the service sends, which no
 * document lists. It has no 402, 410, 413, 426, 499 and 501; those keep the type of their class.
 */
const ERRORS = {
  "invalid-request": [400, "invalid_request_error"],
  "context-overflow": [400, "invalid_request_error"],
  unauthenticated: [401, "authentication_error"],
  "payment-required": [402, "insufficient_quota"],
  forbidden: [403, "permission_error"],
  "not-found": [404, "invalid_request_error"],
  "model-not-found": [404, "invalid_request_error"],
  deprecated: [410, "invalid_request_error"],
  "too-large": [413, "invalid_request_error"],
  "outdated-client": [426, "invalid_request_error"],
  "rate-limited": [429, "rate_limit_error"],
  "quota-exhausted": [429, "insufficient_quota"],
  canceled: [499, "server_error"],
  internal: [500, "server_error"],
  unsupported: [501, "invalid_request_error"],
  "upstream-failed": [502, "server_error"],
  "upstream-protocol": [502, "server_error"],
  "upstream-unavailable": [503, "server_error"],
  timeout: [504, "server_error"],
  config: [500, "server_error"],
  busy: [503, "server_error"],
  io: [500, "server_error"],
} as const satisfies Record<ErrorKind, readonly [status: number, word: string]>;

/** Returns OpenAI's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string) {
  const message = errorMessage(error, requestId);
  return { error: { message, type: ERRORS[error.kind][1], param: error.field ?? null, code: publicCode(error) } };
}

export const errorBody = (error: ExcursorError, requestId: string, status?: number): ErrorBody => ({
  status: status ?? ERRORS[error.kind][0],
  headers: retryHeaders(error),
  body: errorObject(error, requestId),
});
