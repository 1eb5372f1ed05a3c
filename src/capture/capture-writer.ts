import { closeSync, openSync, writevSync } from "node:fs";
import { encodeRecord, FIRST_LINE } from "./record-format.ts";
import type { CaptureRecord } from "./records.ts";

export interface CaptureWriterOptions {
  readonly file: string;
  /** The file grows no further than this. */
  readonly maxBytes: number;
  /** Told once, when the capture ends before its time: it is full, or the disk is. What was written stays readable. */
  readonly onEnd: (reason: string) => void;
}

/** Records wait this long, so that many are written at once. A `kill -9` loses no more than that. */
const WAIT_MS = 100;
/** Kept free for the note that the file is full. */
const LAST_NOTE_BYTES = 256;
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * Appends records to a new file, which only its owner can read. A record is written as a whole or, by a crash, as a part
 * that readers recognise. The traffic never waits for the file and never fails because of it.
 */
export class CaptureWriter {
  readonly #options: CaptureWriterOptions;
  readonly #file: number;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** Throws if the file exists or cannot be made. */
  constructor(options: CaptureWriterOptions) {
    this.#options = options;
    this.#file = openSync(options.file, "wx", 0o600);
    this.#push([Buffer.from(FIRST_LINE)]);
  }

  /** Bytes that are written or wait to be. */
  get bytes(): number {
    return this.#bytes;
  }

  write(record: CaptureRecord): void {
    if (this.#isOver) return;
    const parts = encodeRecord(record);
    if (this.#bytes + parts[0].length + parts[1].length > this.#options.maxBytes - LAST_NOTE_BYTES) {
      const reason = `it has reached its limit of ${this.#options.maxBytes} bytes`;
      this.#push(encodeRecord({ type: "note", call: 0, at: record.at, note: { type: "ended", reason } }));
      this.#stop(reason);
      return;
    }
    this.#push(parts);
  }

  close(): void {
    this.#stop(undefined);
  }

  #push(parts: readonly Uint8Array[]): void {
    for (const part of parts) {
      this.#waiting.push(part);
      this.#waitingBytes += part.length;
      this.#bytes += part.length;
    }
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), WAIT_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    let parts = this.#waiting.filter(({ length }) => length > 0);
    this.#waiting = [];
    this.#waitingBytes = 0;
    try {
      while (parts.length > 0) parts = rest(parts, writevSync(this.#file, parts));
    } catch (error) {
      this.#stop(`the disk refused it (${(error as NodeJS.ErrnoException).code ?? "unknown error"})`);
    }
  }

  #stop(reason: string | undefined): void {
    if (this.#isOver) return;
    this.#flush();
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    closeSync(this.#file);
    if (reason !== undefined) this.#options.onEnd(reason);
  }
}

/** Returns what is left after so many bytes. */
function rest(parts: readonly Uint8Array[], written: number): Uint8Array[] {
  const left: Uint8Array[] = [];
  let skip = written;
  for (const part of parts) {
    if (skip < part.length) left.push(part.subarray(skip));
    skip = Math.max(0, skip - part.length);
  }
  return left;
}
