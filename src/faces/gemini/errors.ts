import type { ErrorKind, ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { publicCode } from "../shared/errors/http-errors.ts";
import { retryHeaders } from "../shared/errors/retry-headers.ts";
import type { ErrorBody } from "../shared/face.ts";

/** The codes of google.rpc and their statuses (google/rpc/code.proto); 502 is what Google's front ends send. */
const ERRORS = {
  "invalid-request": [400, "INVALID_ARGUMENT"],
  "context-overflow": [400, "INVALID_ARGUMENT"],
  unauthenticated: [401, "UNAUTHENTICATED"],
  "payment-required": [400, "FAILED_PRECONDITION"],
  forbidden: [403, "PERMISSION_DENIED"],
  "not-found": [404, "NOT_FOUND"],
  "model-not-found": [404, "NOT_FOUND"],
  deprecated: [400, "FAILED_PRECONDITION"],
  "too-large": [400, "INVALID_ARGUMENT"],
  "outdated-client": [400, "FAILED_PRECONDITION"],
  "rate-limited": [429, "RESOURCE_EXHAUSTED"],
  "quota-exhausted": [429, "RESOURCE_EXHAUSTED"],
  canceled: [499, "CANCELLED"],
  internal: [500, "INTERNAL"],
  unsupported: [501, "UNIMPLEMENTED"],
  "upstream-failed": [502, "INTERNAL"],
  "upstream-protocol": [502, "INTERNAL"],
  "upstream-unavailable": [503, "UNAVAILABLE"],
  timeout: [504, "DEADLINE_EXCEEDED"],
  config: [500, "INTERNAL"],
  busy: [503, "UNAVAILABLE"],
  io: [500, "INTERNAL"],
} as const satisfies Record<ErrorKind, readonly [status: number, word: string]>;

const TYPE = "type.googleapis.com/google.rpc";

/** Returns Google's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string, status?: number): JsonObject {
  const { field, retryAfterMs } = error;
  const [code, word] = ERRORS[error.kind];
  const message = errorMessage(error, requestId);
  const details = [
    { "@type": `${TYPE}.ErrorInfo`, reason: publicCode(error).toUpperCase(), domain: "excursor" },
    ...(field === undefined
      ? []
      : [{ "@type": `${TYPE}.BadRequest`, fieldViolations: [{ field, description: error.message }] }]),
    ...(retryAfterMs === undefined
      ? []
      : [{ "@type": `${TYPE}.RetryInfo`, retryDelay: `${Math.ceil(retryAfterMs / 1000)}s` }]),
  ];
  return { error: { code: status ?? code, message, status: word, details } };
}

export const errorBody = (error: ExcursorError, requestId: string, status?: number): ErrorBody => ({
  status: status ?? ERRORS[error.kind][0],
  headers: retryHeaders(error),
  body: errorObject(error, requestId, status),
});
