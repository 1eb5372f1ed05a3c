import { type ErrorName, ExcursorError } from "../../core/errors.ts";

/** A Redis that lacks commands that the cluster needs. */
export class TooOld extends Error {
  constructor(version: string) {
    super(`version ${version === "" ? "unknown" : version}`);
  }
}

/** Replies of a Redis that cannot take writes now: it is full, a replica, without its disk, or still loading. */
export const isUnable = (message: string): boolean =>
  /^(?:OOM|READONLY|MISCONF|LOADING|MASTERDOWN|NOREPLICAS|BUSY)\b/.test(message);

/** Errors that another attempt does not change. */
export const isRefusal = (thrown: unknown): boolean =>
  thrown instanceof TooOld ||
  (thrown instanceof Error && /^(?:WRONGPASS|NOAUTH|NOPERM|ERR|DENIED)\b|RESP type/.test(thrown.message));

/** Converts a failure at the start to an error that names the setting. The URL's password is not shown. */
export function explainRedisError(thrown: unknown, url: string): ExcursorError {
  if (thrown instanceof ExcursorError) return thrown;
  const place = placeOf(url);
  const { message, code } = thrown as Error & { readonly code?: string };
  const refuse = (sentence: string, name: ErrorName) =>
    new ExcursorError(name, `cluster.redis: Redis at ${place} ${sentence}`, { cause: thrown });
  if (thrown instanceof TooOld || /unknown command/i.test(message)) {
    return refuse(`is too old: ${thrown instanceof TooOld ? message : "it does not know HELLO"}.`, "redis_too_old");
  }
  if (/WRONGPASS|NOAUTH|invalid password|AUTH/.test(message)) {
    return refuse("refuses the user or the password.", "redis_wrong_password");
  }
  if (/NOPERM/.test(message))
    return refuse("does not allow this user to write the cluster's keys.", "redis_no_permission");
  if (/RESP type/.test(message)) return new ExcursorError("not_redis", [place], { cause: thrown });
  const why = isUnable(message) ? `takes no writes (${message}).` : `cannot be used (${code ?? message}).`;
  return refuse(why, "redis_unreachable");
}

function placeOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === "" ? "6379" : port}`;
}
