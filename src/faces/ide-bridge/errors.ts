import type { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "../shared/error-message.ts";
import type { ErrorBody } from "../shared/face.ts";
import { httpStatus, publicCode } from "../shared/http-errors.ts";
import { retryHeaders } from "../shared/retry-headers.ts";

/** The fields of an error, in a body and in a stream. */
export const errorFields = (error: ExcursorError, requestId: string): JsonObject => ({
  code: publicCode(error),
  message: errorMessage(error, requestId),
});

export const errorBody = (error: ExcursorError, requestId: string): ErrorBody => ({
  status: httpStatus(error.kind),
  headers: retryHeaders(error),
  body: { error: true, ...errorFields(error, requestId) },
});
