import type { DescMethod } from "@bufbuild/protobuf";
import { methodAt } from "./call-schema.ts";
import { type CaptureTail, readCapture, type ScanOptions, type StoredRecord, scanCapture } from "./capture-reader.ts";
import { learnHeaders, maskHeaders } from "./mask/mask-headers.ts";
import type { Masker } from "./mask/masker.ts";
import { type MessageText, MessageTexts } from "./mask/message-texts.ts";
import { StreamTexts } from "./mask/stream-texts.ts";
import { encodeRecord, FIRST_LINE } from "./record-format.ts";
import type { CapturedMessage, CaptureRecord } from "./records.ts";
import { RUN_OVER_HTTP1 } from "./view/call-list.ts";

export interface MaskedCaptureOptions {
  /** Default: true. False: of prompts and texts only the length is kept. */
  readonly hasContent?: boolean;
}

/** Names and ids tell how a conversation was made, not what it says. */
const STRUCTURE =
  /(?:^|_)(?:ids?|uuid|name|model|type|kind|role|mode|status|version|code|case|format|object)$|Ids?$|Name$/;

/**
 * A capture without its secrets. Whatever shows a capture, or gives it away, reads it through this. A record keeps its
 * place in the file.
 */
export class MaskedCapture {
  readonly file: string;
  readonly #masker: Masker;
  readonly #hasContent: boolean;
  readonly #texts = new MessageTexts();
  readonly #streams: StreamTexts;
  readonly #methods = new Map<number, DescMethod | undefined>();

  constructor(file: string, masker: Masker, { hasContent = true }: MaskedCaptureOptions = {}) {
    this.file = file;
    this.#masker = masker;
    this.#hasContent = hasContent;
    this.#streams = new StreamTexts(masker);
  }

  /**
   * Reads calls for what is a secret only in the light of other messages: what one names a password, another may repeat,
   * and a stream cuts texts into pieces. Must come before the messages of these calls are read. Reads the file from `from`
   * to `end`.
   */
  async learn(
    wantsCall: (call: number) => boolean = () => true,
    { from = 0, end = Number.POSITIVE_INFINITY }: { readonly from?: number; readonly end?: number } = {},
  ): Promise<void> {
    const runs = new Map<number, string>();
    const learn = (stored: StoredRecord) => {
      const isWanted = stored.offset < end && (stored.type === "message" || wantsCall(stored.call));
      const record = isWanted ? stored.read() : undefined;
      if (record?.type === "call") {
        const { path, headers } = record.head;
        this.#methods.set(record.call, methodAt(path));
        const run = RUN_OVER_HTTP1.test(path) ? headers["x-request-id"] : undefined;
        if (run !== undefined) runs.set(record.call, run);
        learnHeaders(headers, this.#masker);
      } else if (record?.type === "message") {
        this.#learnMessage(record, stored, runs.get(record.call) ?? `#${record.call}`);
      }
    };
    await scanCapture(this.file, learn, { offset: from, wantsMessage: wantsCall });
    this.#streams.end();
  }

  /** As {@link scanCapture}. */
  scan(onRecord: (stored: StoredRecord) => void, options?: ScanOptions): Promise<CaptureTail> {
    return scanCapture(this.file, (stored) => onRecord(this.#masked(stored)), options);
  }

  /** As {@link readCapture}. */
  async *read(offset?: number): AsyncGenerator<StoredRecord, CaptureTail> {
    const records = readCapture(this.file, offset);
    try {
      for (;;) {
        const next = await records.next();
        if (next.done) return next.value;
        yield this.#masked(next.value);
      }
    } finally {
      await records.return({ type: "whole", offset: 0 });
    }
  }

  /** Returns the bytes of a capture with the same records, up to `end` in the file. */
  async *bytes(end: number): AsyncGenerator<Uint8Array> {
    yield Buffer.from(FIRST_LINE);
    for await (const stored of this.read()) {
      if (stored.offset >= end) return;
      const record = stored.read();
      if (record) yield* encodeRecord(record);
    }
  }

  #learnMessage(message: CapturedMessage, { call, offset }: StoredRecord, run: string): void {
    let index = 0;
    this.#texts.edit(message, this.#schemaOf(message, call), ({ bytes, name, stream }) => {
      this.#masker.learn(bytes, name);
      if (stream !== undefined) this.#streams.add(`${run} ${message.direction} ${stream}`, offset, index++, bytes);
    });
  }

  #masked(stored: StoredRecord): StoredRecord {
    const { type, call, at, length, offset } = stored;
    const read = (wantsHeaders?: boolean) => {
      const record = stored.read(wantsHeaders);
      return record && this.#mask(record, offset);
    };
    return { type, call, at, length, offset, read };
  }

  #mask(record: CaptureRecord, offset: number): CaptureRecord {
    switch (record.type) {
      case "call": {
        const { head } = record;
        this.#methods.set(record.call, methodAt(head.path));
        const [origin, path] = [this.#text(head.origin), this.#text(head.path)];
        return { ...record, head: { ...head, origin, path, headers: this.#headers(head.headers) } };
      }
      case "response":
        return { ...record, head: { ...record.head, headers: this.#headers(record.head.headers) } };
      case "end": {
        const { trailers } = record.end;
        return { ...record, end: { ...record.end, trailers: trailers && this.#headers(trailers) } };
      }
      case "note": {
        const { note } = record;
        return note.type === "conversation" ? { ...record, note: { ...note, id: this.#text(note.id) } } : record;
      }
      case "message":
        return { ...record, bytes: this.#maskMessage(record, record.call, offset) };
    }
  }

  #maskMessage(message: CapturedMessage, call: number, offset: number): Uint8Array {
    const pieces = this.#streams.at(offset);
    let index = 0;
    return this.#texts.edit(message, this.#schemaOf(message, call), (text) => {
      if (text.stream !== undefined) pieces?.get(index++)?.copy(text.bytes);
      if (this.#hasContent || isStructure(text)) this.#masker.mask(text.bytes);
      else text.bytes.fill("x");
    });
  }

  #schemaOf({ direction }: CapturedMessage, call: number) {
    const method = this.#methods.get(call);
    return direction === "sent" ? method?.input : method?.output;
  }

  readonly #text = (text: string): string => this.#masker.text(text);

  #headers(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return maskHeaders(headers, this.#masker, this.#text);
  }
}

const BLOB_ID_BYTES = 32;

const isStructure = ({ name, bytes }: MessageText): boolean => STRUCTURE.test(name) || bytes.length === BLOB_ID_BYTES;
