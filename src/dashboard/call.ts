import type { PathParameters } from "../server/routes/route.ts";

/**
 * One call of the dashboard's API. The page's session and token are checked before. Errors are thrown as ExcursorError,
 * and the page shows their message and hint.
 */
export interface Call {
  /** POST and DELETE need the session's token. */
  readonly method: "GET" | "POST" | "DELETE";
  /** Below `/ui/api`, with at most one `{parameter}`. */
  readonly path: `/${string}`;
  /** Returns what is sent as JSON; at most {@link MAX_REPLY_BYTES}. */
  handle(request: CallRequest): Promise<object> | object;
}

interface CallRequest {
  readonly path: PathParameters;
  readonly query: URLSearchParams;
  /** The JSON body of a POST, not checked yet. */
  readonly body: unknown;
  /** Aborted when the page has left. */
  readonly signal: AbortSignal;
}

/** Lists are cut into pages so that no reply is larger. */
export const MAX_REPLY_BYTES = 200_000;
