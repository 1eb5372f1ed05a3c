import { closeSync, openSync, writeSync } from "node:fs";
import { encodeRecord, FIRST_LINE, type FramesRecord } from "./record-format.ts";
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
  /** Many small records are one write. */
  readonly #waiting = Buffer.allocUnsafeSlow(MAX_WAITING_BYTES);
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

  write(record: CaptureRecord | FramesRecord): void {
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
      this.#bytes += part.length;
      if (this.#waitingBytes + part.length > this.#waiting.length) this.#flush();
      if (part.length > this.#waiting.length) this.#write(part);
      else {
        this.#waiting.set(part, this.#waitingBytes);
        this.#waitingBytes += part.length;
      }
    }
    this.#timer ??= setTimeout(() => this.#flush(), WAIT_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const bytes = this.#waiting.subarray(0, this.#waitingBytes);
    this.#waitingBytes = 0;
    this.#write(bytes);
  }

  #write(bytes: Uint8Array): void {
    if (this.#isOver) return;
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
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
