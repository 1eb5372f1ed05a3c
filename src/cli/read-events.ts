import { ExcursorError } from "../core/errors.ts";

/** The JSON of each server-sent event, up to `[DONE]` or the last one. A stream that stops without either was cut off. */
export async function* readEvents(
  response: Response,
  isLast: (event: unknown) => boolean = () => false,
  /** Told of what is no event. */
  onComment: (text: string) => unknown = () => {},
): AsyncGenerator<unknown> {
  const decoder = new TextDecoder();
  let waiting = "";
  for await (const bytes of response.body ?? []) {
    waiting += decoder.decode(bytes, { stream: true });
    const lines = waiting.split("\n");
    waiting = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith(": ")) await onComment(line.slice(2));
      if (!line.startsWith("data: ")) continue;
      const data = line.slice("data: ".length);
      if (data === "[DONE]") return;
      const event: unknown = JSON.parse(data);
      yield event;
      if (isLast(event)) return;
    }
  }
  throw new ExcursorError("upstream-failed", "The answer broke off.", { code: "answer_broke_off" });
}
