import type { ErrorKind, ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorAnswer } from "../shared/errors/error-answer.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { httpStatus, publicCode } from "../shared/errors/http-errors.ts";
import { THREAD_UNSUPPORTED } from "./request/refuse-thread.ts";

/** The types by status (docs.anthropic.com/en/api/errors). Other statuses have the type of their class. */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** Anthropic has 529 where others have 503. */
const statusOf = (kind: ErrorKind): number => (httpStatus(kind) === 503 ? 529 : httpStatus(kind));

const typeOf = (status: number): string => TYPES[status] ?? (status < 499 ? "invalid_request_error" : "api_error");

/** Returns Anthropic's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  return {
    type: "error",
    error: {
      type: typeOf(statusOf(error.kind)),
      message: words(error, requestId),
      // The official SDK chooses the class of the error by it, and whether to send a thread as a whole.
      details: {
        error_code: publicCode(error),
        ...(error.field !== undefined && { field: error.field }),
        ...(error.code === THREAD_UNSUPPORTED && { unsupported: [] }),
      },
    },
    request_id: requestId,
  };
}

export const errorBody = (error: ExcursorError, requestId: string, status = statusOf(error.kind)) =>
  errorAnswer(error, status, errorObject(error, requestId));

/** Claude Code compacts a conversation only if the message begins with these words. */
function words(error: ExcursorError, requestId: string): string {
  const message = errorMessage(error, requestId);
  return error.kind === "context-overflow" ? `prompt is too long: ${message}` : message;
}
