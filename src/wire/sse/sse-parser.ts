import { createParser } from "eventsource-parser";
import { ExcursorError } from "../../core/errors.ts";

export interface SseParserOptions {
  /** The longest unfinished line or event, in characters. */
  readonly maxLength: number;
  /** Called for each event. The name is empty if the stream gave none. */
  readonly onEvent: (name: string, data: string) => void;
  readonly onComment?: (text: string) => void;
}

/**
 * Returns a function that takes the bytes of a stream of server-sent events, in chunks of any size. It throws if an
 * event exceeds the limit. Invalid UTF-8 becomes U+FFFD; ids and retry times are ignored.
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

const tooLarge = (limit: number): ExcursorError => new ExcursorError("frame_too_large", [], { context: { limit } });
