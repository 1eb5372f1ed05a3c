import { createParser } from "eventsource-parser";
import { ExcursorError } from "../../core/errors.ts";

export interface SseParserOptions {
  /** The most that may wait for the end of a line or of an event, in characters. */
  readonly maxLength: number;
  /** Called for each event; the name is empty where the stream gave none. */
  readonly onEvent: (name: string, data: string) => void;
  readonly onComment?: (text: string) => void;
}

/**
 * Returns a function that takes the bytes of a stream of server-sent events, in any pieces. It throws when more than the
 * limit waits for its end. Bytes that are not UTF-8 become U+FFFD; ids and retry times are passed over.
 */
export function createSseParser({ maxLength, onEvent, onComment }: SseParserOptions): (chunk: Uint8Array) => void {
  const decoder = new TextDecoder();
  const parser = createParser({
    maxBufferSize: maxLength,
    onEvent: ({ event = "", data }) => onEvent(event, data),
    ...(onComment && { onComment }),
    onError: ({ type }) => {
      if (type === "max-buffer-size-exceeded") throw tooLarge(maxLength);
    },
  });
  return (chunk) => parser.feed(decoder.decode(chunk, { stream: true }));
}

const tooLarge = (limit: number): ExcursorError =>
  new ExcursorError("upstream-protocol", "The upstream sent an event that is larger than allowed.", {
    code: "frame_too_large",
    context: { limit },
  });
