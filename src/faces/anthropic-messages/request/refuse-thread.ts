import { ExcursorError } from "../../../core/errors.ts";

export const THREAD_UNSUPPORTED = "thread_unsupported_request";

/**
 * Refuses server-side threads. Anthropic's SDK asks the server to store a conversation and then sends only new
 * messages. On these error codes it falls back to the whole conversation.
 */
export function refuseThread(thread: unknown): void {
  if (thread === undefined || thread === null || thread === false) return;
  const isContinued = (thread as { readonly type?: unknown }).type === "continue";
  throw new ExcursorError(isContinued ? "thread_not_found" : THREAD_UNSUPPORTED, [], { field: "thread" });
}
