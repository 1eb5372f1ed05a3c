import { codeOfKind, type ErrorKind, type ExcursorError } from "../../../core/errors.ts";

/** The status and code of each kind, for all dialects. Never 409: the official SDKs retry it. */
const HTTP_ERRORS = {
  "invalid-request": [400, "invalid_request"],
  "context-overflow": [400, "context_length_exceeded"],
  unauthenticated: [401, "invalid_api_key"],
  "payment-required": [402, "payment_required"],
  forbidden: [403, "permission_denied"],
  "not-found": [404, "not_found"],
  "model-not-found": [404, "model_not_found"],
  deprecated: [410, "deprecated"],
  "too-large": [413, "request_too_large"],
  "outdated-client": [426, "outdated_client"],
  "rate-limited": [429, "rate_limit_exceeded"],
  "quota-exhausted": [429, "insufficient_quota"],
  canceled: [499, "canceled"],
  internal: [500, "internal_error"],
  unsupported: [501, "unsupported"],
  "upstream-failed": [502, "upstream_error"],
  "upstream-protocol": [502, "upstream_protocol_error"],
  "upstream-unavailable": [503, "upstream_unavailable"],
  timeout: [504, "timeout"],
  config: [500, "configuration_error"],
  busy: [503, "busy"],
  io: [500, "io_error"],
} as const satisfies Record<ErrorKind, readonly [status: number, code: string]>;

/** Returns the default HTTP status of a kind; a dialect may use another. */
export const httpStatus = (kind: ErrorKind): number => HTTP_ERRORS[kind][0];

/**
 * Returns the code that clients see: the error's own, else that of its kind. The latter are OpenAI's where it has one.
 */
export const publicCode = ({ kind, code }: ExcursorError): string =>
  code === codeOfKind(kind) ? HTTP_ERRORS[kind][1] : code;
