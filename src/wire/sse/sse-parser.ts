import { StringDecoder } from "node:string_decoder";
import { ExcursorError } from "../../core/errors.ts";

/** Called for each event; the name is empty where the stream gave none. */
export type OnSseEvent = (name: string, data: string) => void;

/**
 * Server-sent events out of bytes, whatever their cut. Linear: a line that comes in many pieces is looked through once
 * and joined once. Comments, ids and retry times mean nothing here.
 */
export class SseParser {
  readonly #maxLength: number;
  readonly #decoder = new StringDecoder("utf8");
  /** The line that is not over yet, in the pieces it came in. */
  #pieces: string[] = [];
  #piecesLength = 0;
  #name = "";
  #data: string | undefined;
  #isFirstLine = true;

  /** How long a line, and the data of an event, may be. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  push(chunk: Uint8Array, onEvent: OnSseEvent): void {
    const text = this.#decoder.write(chunk as Buffer);
    let from = 0;
    for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", from)) {
      this.#readLine(this.#line(text.slice(from, at)), onEvent);
      from = at + 1;
    }
    if (from === text.length) return;
    this.#pieces.push(from === 0 ? text : text.slice(from));
    this.#piecesLength += text.length - from;
    this.#checkLength(this.#piecesLength);
  }

  #line(last: string): string {
    if (this.#pieces.length === 0) return last;
    const line = this.#pieces.join("") + last;
    this.#pieces = [];
    this.#piecesLength = 0;
    return line;
  }

  #readLine(given: string, onEvent: OnSseEvent): void {
    let line = given.endsWith("\r") ? given.slice(0, -1) : given;
    if (this.#isFirstLine) {
      this.#isFirstLine = false;
      line = line.replace(/^\ufeff/, "");
    }
    if (line === "") {
      const [name, data] = [this.#name, this.#data];
      this.#name = "";
      this.#data = undefined;
      if (data !== undefined) onEvent(name, data);
    } else if (line.startsWith("data:")) {
      const value = valueAfter(line, 5);
      this.#checkLength(value.length + (this.#data?.length ?? 0));
      this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    } else if (line.startsWith("event:")) this.#name = valueAfter(line, 6);
  }

  #checkLength(length: number): void {
    if (length <= this.#maxLength) return;
    throw new ExcursorError("upstream-protocol", "The upstream sent an event that is larger than allowed.", {
      code: "frame_too_large",
      context: { limit: this.#maxLength },
    });
  }
}

const valueAfter = (line: string, colon: number): string => line.slice(line[colon] === " " ? colon + 1 : colon);
