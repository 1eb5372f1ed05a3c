import type { ExcursorError } from "../../../core/errors.ts";
import type { JsonObject } from "../../../core/turn.ts";
import type { ErrorBody } from "../face.ts";

/** The official SDKs retry 429 and 5xx unless `x-should-retry` is false, and respect `retry-after`. */
export function errorAnswer({ retryable, retryAfterMs }: ExcursorError, status: number, body: JsonObject): ErrorBody {
  const headers = {
    ...(!retryable && { "x-should-retry": "false" }),
    ...(retryAfterMs !== undefined && {
      "retry-after": String(Math.ceil(retryAfterMs / 1000)),
      "retry-after-ms": String(Math.ceil(retryAfterMs)),
    }),
  };
  return { status, headers, body };
}
