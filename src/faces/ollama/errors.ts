import type { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { httpStatus } from "../shared/errors/http-errors.ts";
import { retryHeaders } from "../shared/errors/retry-headers.ts";
import type { ErrorBody } from "../shared/face.ts";

/** Returns Ollama's error object, which is the same in a body and in a stream. Its words are all it has: they name the field. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  const words = errorMessage(error, requestId);
  const { field } = error;
  return { error: field === undefined || words.includes(field) ? words : `${field}: ${words}` };
}

export const errorBody = (error: ExcursorError, requestId: string, status?: number): ErrorBody => ({
  status: status ?? httpStatus(error.kind),
  headers: retryHeaders(error),
  body: errorObject(error, requestId),
});
