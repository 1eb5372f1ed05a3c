import { ExcursorError } from "../core/errors.ts";
import { httpStatus } from "../faces/shared/errors/http-errors.ts";
import type { Log } from "../observe/log.ts";
import type { Exchange } from "./gateway-exchange.ts";

export function logRequest(log: Log, exchange: Exchange): void {
  const { id, principal, method, notes, startedAt } = exchange;
  const { error, usage } = notes;
  const { status, error: code } = exchange.outcome();
  const fields = {
    requestId: id,
    principal: principal?.id,
    method,
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
