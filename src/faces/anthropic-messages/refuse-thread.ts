import { ExcursorError } from "../../core/errors.ts";

export const THREAD_UNSUPPORTED = "thread_unsupported_request";

/**
 * Anthropic's SDK asks the server to hold a conversation, and then sends only what is new. Nothing is held here; told so
 * in these codes, it sends the whole conversation instead and goes on. `false` asks for no thread.
 */
export function refuseThread(thread: unknown): void {
  if (thread === undefined || thread === null || thread === false) return;
  const isContinued = (thread as { readonly type?: unknown }).type === "continue";
  throw new ExcursorError("invalid-request", "thread: conversations are not held here, send the whole of it.", {
    code: isContinued ? "thread_not_found" : THREAD_UNSUPPORTED,
    field: "thread",
  });
}
