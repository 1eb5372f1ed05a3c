import type { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { httpStatus, publicCode } from "../shared/errors/http-errors.ts";
import { retryHeaders } from "../shared/errors/retry-headers.ts";
import type { ErrorBody } from "../shared/face.ts";

/** The fields of an error, in a body and in a stream. */
export const errorFields = (error: ExcursorError, requestId: string): JsonObject => ({
  code: publicCode(error),
  message: errorMessage(error, requestId),
});

export const errorBody = (error: ExcursorError, requestId: string, status?: number): ErrorBody => ({
  status: status ?? httpStatus(error.kind),
  headers: retryHeaders(error),
  body: { error: true, ...errorFields(error, requestId) },
});
