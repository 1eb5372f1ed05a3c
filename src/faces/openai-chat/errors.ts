import type { ExcursorError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/turn.ts";
import type { ErrorBody } from "../face.ts";

/** The object that OpenAI's clients look for, in a body and in a stream alike. */
export function errorObject(error: ExcursorError, requestId: string): JsonObject {
  const reference = error.kind === "internal" ? `(Request ${requestId}.)` : undefined;
  // Programs read this as well: advice that fits every error of a kind would only be in their way.
  const hint = error.hasOwnHint ? error.hint : undefined;
  const message = [error.message, hint, reference].filter((text) => text !== undefined).join(" ");
  return { error: { message, type: error.outlets.openai.type, param: error.field ?? null, code: error.code } };
}

export function errorBody(error: ExcursorError, requestId: string): ErrorBody {
  return { status: error.outlets.status, headers: retryHeaders(error), body: errorObject(error, requestId) };
}

/** The official SDKs try again on 429 and 5xx by themselves unless they are told not to, and obey a waiting time. */
function retryHeaders({ retryable, retryAfterMs }: ExcursorError): Record<string, string> {
  return {
    ...(!retryable && { "x-should-retry": "false" }),
    ...(retryAfterMs !== undefined && {
      "retry-after": String(Math.ceil(retryAfterMs / 1000)),
      "retry-after-ms": String(Math.ceil(retryAfterMs)),
    }),
  };
}
