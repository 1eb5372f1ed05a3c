import { ExcursorError } from "../core/errors.ts";
import { httpStatus, publicCode } from "../faces/shared/http-errors.ts";
import type { Log } from "../observe/log.ts";
import type { GatewayExchange } from "./exchange.ts";

/** Returns the status of a request that is over, and its error code if it failed. A client that left has 499. */
export function outcomeOf({ response, notes, signal }: GatewayExchange): {
  readonly status: number;
  readonly error: string | undefined;
} {
  if (signal.aborted && !response.writableFinished) return { status: 499, error: "client_gone" };
  return { status: response.statusCode, error: notes.error && publicCode(notes.error) };
}

export function logRequest(log: Log, exchange: GatewayExchange): void {
  const { id, principal, request, notes, startedAt } = exchange;
  const { error, usage } = notes;
  const { status, error: code } = outcomeOf(exchange);
  const fields = {
    requestId: id,
    principal: principal?.id,
    method: request.method,
    route: notes.route,
    model: notes.model?.slice(0, 128),
    status,
    durationMs: round(performance.now() - startedAt),
    firstEventMs: notes.firstEventMs === undefined ? undefined : round(notes.firstEventMs),
    bytes: exchange.bytesWritten,
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    error: code,
  };
  // Internal errors are bugs, and need their stack.
  if (error?.kind === "internal") log.error({ ...fields, cause: causeOf(error) }, "request");
  else if (error && httpStatus(error.kind) >= 500) log.warn({ ...fields, ...error.context }, "request");
  else if (exchange.isInternal) log.debug(fields, "request");
  else log.info(fields, "request");
}

const round = (ms: number): number => Math.round(ms * 10) / 10;

function causeOf(error: ExcursorError): string {
  const { cause } = error;
  return cause instanceof Error && !(cause instanceof ExcursorError) ? (cause.stack ?? cause.message) : error.message;
}
