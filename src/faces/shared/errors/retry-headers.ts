import type { ExcursorError } from "../../../core/errors.ts";

/** The official SDKs retry 429 and 5xx unless `x-should-retry` is false, and respect `retry-after`. */
export function retryHeaders({ retryable, retryAfterMs }: ExcursorError): Record<string, string> {
  return {
    ...(!retryable && { "x-should-retry": "false" }),
    ...(retryAfterMs !== undefined && {
      "retry-after": String(Math.ceil(retryAfterMs / 1000)),
      "retry-after-ms": String(Math.ceil(retryAfterMs)),
    }),
  };
}
