import type { ErrorKind, ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import { errorAnswer } from "../shared/errors/error-answer.ts";
import { errorMessage } from "../shared/errors/error-message.ts";
import { httpStatus, publicCode } from "../shared/errors/http-errors.ts";

/** The words of google.rpc by status (google/rpc/code.proto), and 502, which Google's front ends send. */
const WORDS: Readonly<Record<number, string>> = {
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  502: "INTERNAL",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

/** Faults of the request have 400 where google.rpc has nothing closer. */
const statusOf = (kind: ErrorKind): number => (httpStatus(kind) in WORDS ? httpStatus(kind) : 400);

const PRECONDITIONS: readonly ErrorKind[] = ["payment-required", "deprecated", "outdated-client"];

const TYPE = "type.googleapis.com/google.rpc";

/** Returns Google's error object, which is the same in a body and in a stream. */
export function errorObject(error: ExcursorError, requestId: string, code = statusOf(error.kind)): JsonObject {
  const { kind, field, retryAfterMs } = error;
  const word = WORDS[code] ?? (PRECONDITIONS.includes(kind) ? "FAILED_PRECONDITION" : "INVALID_ARGUMENT");
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
  return { error: { code, message, status: word, details } };
}

export const errorBody = (error: ExcursorError, requestId: string, status = statusOf(error.kind)) =>
  errorAnswer(error, status, errorObject(error, requestId, status));
