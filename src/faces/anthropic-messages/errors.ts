import type { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "../shared/error-message.ts";
import type { ErrorBody } from "../shared/face.ts";
import { retryHeaders } from "../shared/retry-headers.ts";
import { THREAD_UNSUPPORTED } from "./refuse-thread.ts";

/** The object that Anthropic's clients look for, in a body and in a stream alike. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  return {
    type: "error",
    error: {
      type: error.outlets.anthropic,
      message: words(error, requestId),
      details: {
        error_code: error.code,
        ...(error.field !== undefined && { field: error.field }),
        ...(error.code === THREAD_UNSUPPORTED && { unsupported: [] }),
      },
    },
    request_id: requestId,
  };
}

export function errorBody(error: ExcursorError, requestId: string): ErrorBody {
  return { status: error.outlets.status, headers: retryHeaders(error), body: errorObject(error, requestId) };
}

/** Claude Code shortens a conversation when it reads these words, and by no other sign. */
function words(error: ExcursorError, requestId: string): string {
  const message = errorMessage(error, requestId);
  return error.kind === "context-overflow" ? `prompt is too long: ${message}` : message;
}
