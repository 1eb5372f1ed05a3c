import type { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "./error-message.ts";
import type { ErrorBody } from "./face.ts";
import { retryHeaders } from "./retry-headers.ts";

/** The object that OpenAI's clients look for, in a body and in a stream alike. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  const message = errorMessage(error, requestId);
  return { error: { message, type: error.outlets.openai.type, param: error.field ?? null, code: error.code } };
}

export function errorBody(error: ExcursorError, requestId: string): ErrorBody {
  return { status: error.outlets.status, headers: retryHeaders(error), body: errorObject(error, requestId) };
}
