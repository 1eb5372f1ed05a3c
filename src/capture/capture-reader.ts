import { type FileHandle, open } from "node:fs/promises";
import { ExcursorError } from "../core/errors.ts";
import {
  callAt,
  countFrames,
  decodeFrames,
  decodeRecord,
  FIRST_LINE,
  HEADER_BYTES,
  isFramesAt,
  isHeaderAt,
  isMessageAt,
  lengthAt,
  timeAt,
  typeAt,
} from "./record-format.ts";
import type { CaptureRecord } from "./records.ts";

/** How a capture ended. `cut`: in the middle of a record, as after a crash. `damaged`: what follows cannot be read. */
export interface CaptureTail {
  readonly type: "whole" | "cut" | "damaged";
  /** Where the last whole record ends. */
  readonly offset: number;
}

/** A record or one message of several in the file, and its content on demand. */
export interface StoredRecord {
  readonly type: CaptureRecord["type"];
  readonly call: number;
  readonly at: number;
  /** Of the content. */
  readonly length: number;
  readonly offset: number;
  /**
   * Undefined if the content is damaged. The bytes hold until the next record is read. Without `wantsHeaders`, there are
   * none.
   */
  read(wantsHeaders?: boolean): CaptureRecord | undefined;
}

const CHUNK_BYTES = 1024 * 1024;
/** No message on the wire is larger. */
const MAX_PAYLOAD_BYTES = 256 * 1024 * 1024;

/**
 * Reads a capture from its beginning, or from the offset of a stored record, in constant memory beside the largest
 * record. Returns how it ended. A file that is still written can be read again from `offset`.
 */
export async function* readCapture(file: string, offset = 0): AsyncGenerator<StoredRecord, CaptureTail> {
  const parts = readParts(file, await recordAt(file, offset));
  try {
    for (;;) {
      const next = await parts.next();
      if (next.done) return next.value;
      const { bytes, view, start, end } = next.value;
      for (let at = 0; at < end; at += HEADER_BYTES + lengthAt(view, at)) {
        const record = new RecordInPart(bytes, view, at, start);
        if (!isFramesAt(view, at)) yield record;
        else for (const message of record.messages()) if (message.offset >= offset) yield message;
      }
    }
  } finally {
    await parts.return({ type: "whole", offset });
  }
}

export interface ScanOptions {
  /** The end of an earlier scan. */
  readonly offset?: number;
  /**
   * Called for each message, and once for messages that came together. `count` returns how many those are; it takes longer
   * than to skip them. False: they are skipped.
   */
  readonly wantsMessage?: WantsMessage;
}

type WantsMessage = (call: number, count: () => number) => boolean;

/** Reads a capture as {@link readCapture} does, in about the time that it takes to read the file. */
export async function scanCapture(
  file: string,
  onRecord: (stored: StoredRecord) => void,
  { offset = 0, wantsMessage = () => true }: ScanOptions = {},
): Promise<CaptureTail> {
  const tell: Visit = (bytes, view, at, start) => {
    const record = new RecordInPart(bytes, view, at, start);
    if (!isFramesAt(view, at)) onRecord(record);
    else for (const message of record.messages()) onRecord(message);
  };
  const parts = readParts(file, offset, tell, wantsMessage);
  for (;;) {
    const next = await parts.next();
    if (next.done) return next.value;
  }
}

/** Returns the offset of the record that holds the message at `offset`, if that is none itself. */
async function recordAt(file: string, offset: number): Promise<number> {
  const parts = readParts(file, 0);
  let found = 0;
  if (offset <= FIRST_LINE.length) return found;
  for (;;) {
    const next = await parts.next();
    if (next.done) return offset;
    const { view, start, end } = next.value;
    for (let at = 0; at < end && start + at <= offset; at += HEADER_BYTES + lengthAt(view, at)) found = start + at;
    if (start + end > offset) {
      await parts.return({ type: "whole", offset });
      return found;
    }
  }
}

/** A record at a place of a part, with nothing decoded that was not asked for: there may be many. */
class RecordInPart implements StoredRecord {
  readonly type: CaptureRecord["type"];
  readonly call: number;
  readonly length: number;
  readonly offset: number;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #at: number;

  constructor(bytes: Buffer, view: DataView, at: number, start: number) {
    this.type = typeAt(view, at);
    this.call = callAt(view, at);
    this.length = lengthAt(view, at);
    this.offset = start + at;
    this.#bytes = bytes;
    this.#view = view;
    this.#at = at;
  }

  get at(): number {
    return timeAt(this.#view, this.#at);
  }

  read(wantsHeaders = true): CaptureRecord | undefined {
    return decodeRecord(this.#view, this.#at, this.#payload, wantsHeaders);
  }

  /** The messages, if it is one of frames. */
  messages(): readonly StoredRecord[] {
    const frames = decodeFrames(this.#view, this.#at, this.#payload);
    // Damaged, and so one message that cannot be read.
    if (!frames) return [this];
    return frames.map(({ start, message }) => ({
      ...message,
      length: message.bytes.length,
      offset: start === 0 ? this.offset : this.offset + HEADER_BYTES + start,
      read: () => message,
    }));
  }

  get #payload(): Buffer {
    const from = this.#at + HEADER_BYTES;
    return this.#bytes.subarray(from, from + this.length);
  }
}

/** Whole records: the first `end` bytes, which are overwritten by the next part. */
interface Part {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** The place of the first byte in the file. */
  readonly start: number;
  readonly end: number;
}

const wantsNone: WantsMessage = () => false;

/** Called for each record at its place in `bytes`, of which the first is at `start` in the file. */
type Visit = (bytes: Buffer, view: DataView, at: number, start: number) => void;

async function* readParts(
  file: string,
  offset: number,
  visit: Visit = () => {},
  wantsMessage: WantsMessage = wantsNone,
): AsyncGenerator<Part, CaptureTail> {
  const handle = await openCapture(file);
  try {
    let bytes = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    // Much faster than the methods of a buffer, and there are millions of records.
    let view = new DataView(bytes.buffer);
    let start = Math.max(offset, FIRST_LINE.length);
    let held = 0;
    for (;;) {
      const { bytesRead } = await handle.read(bytes, held, bytes.length - held, start + held);
      held += bytesRead;
      const { end, needed, isDamaged } = walkRecords(view, held, wantsMessage, (at) => visit(bytes, view, at, start));
      if (end > 0) yield { bytes, view, start, end };
      const at = start + end;
      if (isDamaged) return { type: "damaged", offset: at };
      if (bytesRead === 0) return { type: held > end ? "cut" : "whole", offset: at };
      // A length is not believed before the file has as many bytes.
      const isLarger = needed > bytes.length;
      if (isLarger && at + needed > (await handle.stat()).size) return { type: "cut", offset: at };
      const rest = isLarger ? Buffer.allocUnsafeSlow(needed) : bytes;
      bytes.copy(rest, 0, end, held);
      if (isLarger) view = new DataView(rest.buffer);
      bytes = rest;
      start = at;
      held -= end;
    }
  } finally {
    await handle.close();
  }
}

/** Visits the whole records of a part. Returns where they end, and how many bytes the next one has as far as is known. */
function walkRecords(view: DataView, held: number, wantsMessage: WantsMessage, visit: (at: number) => void) {
  let end = 0;
  // One function for all records, since there may be millions.
  const count = () => {
    const from = end + HEADER_BYTES;
    return isFramesAt(view, end) ? countFrames(view, from, from + lengthAt(view, end)) : 1;
  };
  while (end + HEADER_BYTES <= held) {
    const length = lengthAt(view, end);
    const needed = HEADER_BYTES + length;
    if (!isHeaderAt(view, end) || length > MAX_PAYLOAD_BYTES) return { end, needed, isDamaged: true };
    if (end + needed > held) return { end, needed, isDamaged: false };
    const hasMessages = isMessageAt(view, end) || isFramesAt(view, end);
    if (!hasMessages || wantsMessage(callAt(view, end), count)) visit(end);
    end += needed;
  }
  return { end, needed: HEADER_BYTES, isDamaged: false };
}

async function openCapture(file: string): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  const first = Buffer.alloc(FIRST_LINE.length);
  try {
    handle = await open(file);
    const { bytesRead } = await handle.read(first, 0, first.length, 0);
    const line = first.subarray(0, bytesRead).toString("latin1");
    if (line === FIRST_LINE) return handle;
    await handle.close();
  } catch (cause) {
    await handle?.close();
    const { code } = cause as NodeJS.ErrnoException;
    throw new ExcursorError(code === "ENOENT" ? "not-found" : "io", `${file} could not be read (${code}).`, {
      hint: "Give the path of a file that `excursor capture` has written.",
      cause,
    });
  }
  const [name] = FIRST_LINE.split(" ");
  const isOther = first.toString("latin1").startsWith(`${name} `);
  throw new ExcursorError(
    "invalid-request",
    isOther
      ? `${file} is a capture of another version of Excursor, and was left as it is.`
      : `${file} is not a capture, or ends within its first line.`,
    { hint: isOther ? "Read it with the version that wrote it." : "Give a file that `excursor capture` has written." },
  );
}
