import type { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorAnswer } from "../shared/errors/error-answer.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { httpStatus, publicCode } from "../shared/errors/http-errors.ts";

/** The fields of an error, in a body and in a stream. */
export const errorFields = (error: ExcursorError, requestId: string): JsonObject => ({
  code: publicCode(error),
  message: errorMessage(error, requestId),
});

export const errorBody = (error: ExcursorError, requestId: string, status = httpStatus(error.kind)) =>
  errorAnswer(error, status, { error: true, ...errorFields(error, requestId) });
