import type { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorAnswer } from "../shared/errors/error-answer.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { httpStatus } from "../shared/errors/http-errors.ts";

/** Returns Ollama's error object, which is the same in a body and in a stream. Its words are all it has: they name the field. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  const words = errorMessage(error, requestId);
  const { field } = error;
  return { error: field === undefined || words.includes(field) ? words : `${field}: ${words}` };
}

export const errorBody = (error: ExcursorError, requestId: string, status = httpStatus(error.kind)) =>
  errorAnswer(error, status, errorObject(error, requestId));
