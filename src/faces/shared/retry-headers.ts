import type { ExcursorError } from "../../core/errors.ts";

/** The official SDKs try again on 429 and 5xx by themselves unless they are told not to, and obey a waiting time. */
export function retryHeaders({ retryable, retryAfterMs }: ExcursorError): Record<string, string> {
  return {
    ...(!retryable && { "x-should-retry": "false" }),
    ...(retryAfterMs !== undefined && {
      "retry-after": String(Math.ceil(retryAfterMs / 1000)),
      "retry-after-ms": String(Math.ceil(retryAfterMs)),
    }),
  };
}
