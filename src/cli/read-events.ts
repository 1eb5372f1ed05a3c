import { ExcursorError } from "../core/errors.ts";
import { createSseParser } from "../wire/sse/sse-parser.ts";

/** An event of the gateway may hold a whole answer. */
const MAX_EVENT_LENGTH = 64 * 1024 * 1024;

/**
 * Yields the JSON of each server-sent event, up to `[DONE]` or the last one. Throws if the stream ends without either.
 */
export async function* readEvents(
  response: Response,
  isLast: (event: unknown) => boolean = () => false,
  onComment: (text: string) => unknown = () => {},
): AsyncGenerator<unknown> {
  let parts: { readonly comment?: string; readonly data?: string }[] = [];
  const parse = createSseParser({
    maxLength: MAX_EVENT_LENGTH,
    onEvent: (_, data) => parts.push({ data }),
    onComment: (comment) => parts.push({ comment }),
  });
  for await (const bytes of response.body ?? []) {
    parts = [];
    parse(bytes);
    for (const { comment, data } of parts) {
      if (comment !== undefined) await onComment(comment);
      if (data === undefined) continue;
      if (data === "[DONE]") return;
      const event: unknown = JSON.parse(data);
      yield event;
      if (isLast(event)) return;
    }
  }
  throw new ExcursorError("answer_broke_off");
}
