import type { CaptureWriter } from "./capture-writer.ts";
import { Masker } from "./masker.ts";
import type { CallEnd, CallHead, CapturedMessage, CaptureNote, ResponseInfo } from "./records.ts";

/** Headers whose whole value is a secret. */
const SECRET_HEADERS: ReadonlySet<string> = new Set([
  "authorization",
  "cookie",
  "set-cookie",
  "x-api-key",
  "proxy-authorization",
  "x-cursor-checksum",
]);

/** Records calls into a capture, without their secrets. */
export class CaptureRecorder {
  readonly #writer: CaptureWriter;
  readonly #masker = new Masker();
  readonly #now: () => number;
  #calls = 0;

  /** `secrets` are known beforehand: keys of the gateway, the path of the home folder. */
  constructor(writer: CaptureWriter, secrets: readonly string[] = [], now: () => number = Date.now) {
    this.#writer = writer;
    this.#now = now;
    for (const secret of secrets) this.#masker.add(secret);
  }

  call(head: CallHead): CallRecording {
    const call = ++this.#calls;
    this.#learn(head.headers);
    const { method, origin, path, headers, transport } = head;
    const masked = {
      method,
      origin: this.#masker.text(origin),
      path: this.#masker.text(path),
      headers: this.#maskHeaders(headers),
      transport,
    };
    this.#writer.write({ type: "call", call, at: this.#now(), head: masked });
    return {
      response: ({ status, headers: answered }) => {
        this.#learn(answered);
        this.#writer.write({
          type: "response",
          call,
          at: this.#now(),
          head: { status, headers: this.#maskHeaders(answered) },
        });
      },
      message: (message) => {
        this.#writer.write({
          type: "message",
          call,
          at: this.#now(),
          ...message,
          bytes: this.#masker.bytes(message.bytes),
        });
      },
      note: (note) => this.#writer.write({ type: "note", call, at: this.#now(), note }),
      end: (end) => {
        const trailers = end.trailers && this.#maskHeaders(end.trailers);
        this.#writer.write({ type: "end", call, at: this.#now(), end: { ...end, trailers } });
      },
    };
  }

  close(): void {
    this.#writer.close();
  }

  /** What a header says in secret, a message may repeat. */
  #learn(headers: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(headers)) {
      if (!SECRET_HEADERS.has(name)) continue;
      for (const part of value.split(/[\s;,]+|(?<=\w)=/)) this.#masker.add(part);
    }
  }

  #maskHeaders(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, this.#masker.text(value)]));
  }
}

/** Records one call. */
export interface CallRecording {
  response(head: ResponseInfo): void;
  message(message: CapturedMessage): void;
  note(note: CaptureNote): void;
  end(end: CallEnd): void;
}
