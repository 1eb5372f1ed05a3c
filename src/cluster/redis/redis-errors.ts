import type { ErrorCode } from "../../core/error-codes.ts";
import { ExcursorError } from "../../core/errors.ts";

/** A Redis that lacks commands that the cluster needs. */
export class TooOld extends Error {
  constructor(version: string) {
    super(`version ${version === "" ? "unknown" : version}`);
  }
}

/** Converts a failure at the start to an error that names the setting. The URL's password is not shown. */
export function explainRedisError(thrown: unknown, url: string): ExcursorError {
  if (thrown instanceof ExcursorError) return thrown;
  const where = `cluster.redis: Redis at ${placeOf(url)}`;
  const { message, code } = thrown as Error & { readonly code?: string };
  const refuse = (sentence: string, errorCode: ErrorCode) =>
    new ExcursorError(errorCode, `${where} ${sentence}`, { cause: thrown });
  if (thrown instanceof TooOld || /unknown command/i.test(message)) {
    return refuse(`is too old: ${thrown instanceof TooOld ? message : "it does not know HELLO"}.`, "redis_too_old");
  }
  if (/WRONGPASS|NOAUTH|invalid password|AUTH/.test(message)) {
    return refuse("refuses the user or the password.", "redis_wrong_password");
  }
  if (/NOPERM/.test(message)) {
    return refuse("does not allow this user to write the cluster's keys.", "redis_no_permission");
  }
  return refuse(`cannot be used (${code ?? message}).`, "redis_unreachable");
}

function placeOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname}:${port === "" ? "6379" : port}`;
}
