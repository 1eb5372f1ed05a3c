import type { ErrorKind, ExcursorError } from "../../../core/errors.ts";
import { errorAnswer } from "../errors/error-answer.ts";
import { errorMessage } from "../errors/error-message.ts";
import { httpStatus, publicCode } from "../errors/http-errors.ts";

/**
 * The types that the service sends by status, which no document lists; the statuses are those of its guide
 * (platform.openai.com/docs/guides/error-codes). Other statuses have the type of their class.
 */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "insufficient_quota",
  403: "permission_error",
  429: "rate_limit_error",
  501: "invalid_request_error",
};

function typeOf(kind: ErrorKind): string {
  const status = httpStatus(kind);
  if (kind === "quota-exhausted") return "insufficient_quota";
  return TYPES[status] ?? (status < 499 ? "invalid_request_error" : "server_error");
}

/** Returns OpenAI's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string) {
  const message = errorMessage(error, requestId);
  return { error: { message, type: typeOf(error.kind), param: error.field ?? null, code: publicCode(error) } };
}

export const errorBody = (error: ExcursorError, requestId: string, status = httpStatus(error.kind)) =>
  errorAnswer(error, status, errorObject(error, requestId));
