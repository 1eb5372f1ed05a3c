import { type ErrorKind, ExcursorError } from "../../core/errors.ts";
import { ErrorDetails_Error } from "../../gen/aiserver/v1/error_pb.ts";
import type { ConnectCode } from "../../wire/agent/cursor-errors.ts";
import { isRpc } from "../../wire/agent/unknown-calls.ts";
import { ConnectFailure, grpcStatus } from "../../wire/connect/connect-failure.ts";
import { encodeFrame, FLAG_END } from "../../wire/connect/envelope.ts";
import { FrameWriter } from "../../wire/connect/frame-writer.ts";
import { mediaType } from "../../wire/http/http-errors.ts";
import type { ServerExchange } from "../../wire/http/server-exchange.ts";

const { CUSTOM } = ErrorDetails_Error;

/** How each kind of error is said to Cursor's clients. */
const FAILURES: Readonly<Record<ErrorKind, readonly [ConnectCode, ErrorDetails_Error]>> = {
  "invalid-request": ["invalid_argument", ErrorDetails_Error.BAD_REQUEST],
  "context-overflow": ["invalid_argument", ErrorDetails_Error.CONVERSATION_TOO_LONG],
  unauthenticated: ["unauthenticated", ErrorDetails_Error.UNAUTHORIZED],
  "payment-required": ["resource_exhausted", CUSTOM],
  forbidden: ["permission_denied", CUSTOM],
  "not-found": ["not_found", ErrorDetails_Error.NOT_FOUND],
  "model-not-found": ["not_found", ErrorDetails_Error.BAD_MODEL_NAME],
  deprecated: ["failed_precondition", CUSTOM],
  "too-large": ["resource_exhausted", CUSTOM],
  "outdated-client": ["failed_precondition", CUSTOM],
  "rate-limited": ["resource_exhausted", ErrorDetails_Error.RATE_LIMITED],
  "quota-exhausted": ["resource_exhausted", CUSTOM],
  canceled: ["canceled", ErrorDetails_Error.USER_ABORTED_REQUEST],
  internal: ["internal", ErrorDetails_Error.INTERNAL],
  unsupported: ["unimplemented", CUSTOM],
  "upstream-failed": ["unavailable", ErrorDetails_Error.PROVIDER_ERROR],
  "upstream-protocol": ["internal", ErrorDetails_Error.PROVIDER_ERROR],
  "upstream-unavailable": ["unavailable", ErrorDetails_Error.NETWORK_ERROR],
  timeout: ["deadline_exceeded", ErrorDetails_Error.TIMEOUT],
  config: ["failed_precondition", CUSTOM],
  busy: ["unavailable", CUSTOM],
  io: ["internal", CUSTOM],
};

/** An error as Cursor's clients show it: the message is the title, the hint is the detail. */
export function failureOf(thrown: unknown): ConnectFailure {
  if (thrown instanceof ConnectFailure) return thrown;
  const { kind, message, hint, retryable } = ExcursorError.from(thrown);
  const [code, error] = FAILURES[kind];
  return new ConnectFailure(code, message, { details: { error, title: message, detail: hint ?? "", retryable } });
}

/** Answers a request with an error, in the form that its client reads. Cuts an answer that has begun. */
export function respondError(exchange: ServerExchange, thrown: unknown): void {
  if (exchange.hasResponded) {
    exchange.reset();
    return;
  }
  const failure = failureOf(thrown);
  const type = mediaType(exchange.header("content-type"));
  if (type.startsWith("application/connect+")) {
    exchange.open(200, { "content-type": type });
    exchange.end(encodeFrame(failure.toEndFrame(), FLAG_END));
  } else if (type.startsWith("application/grpc-web")) new FrameWriter(exchange, "grpc-web").end(failure);
  else if (type.startsWith("application/grpc")) {
    const message = encodeURIComponent(failure.message);
    exchange.respond(200, "", {
      "content-type": type,
      "grpc-status": grpcStatus(failure.code),
      "grpc-message": message,
    });
  } else if (isRpc(exchange.path)) exchange.respondJson(failure.httpStatus, failure.toConnectJson());
  else exchange.respondJson(failure.httpStatus, { error: { code: failure.code, message: restMessage(failure) } });
}

/** Clients of the REST interface show one text. */
const restMessage = ({ message, details }: ConnectFailure): string =>
  details?.detail ? `${message} ${details.detail}` : message;
