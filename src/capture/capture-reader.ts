import { type FileHandle, open } from "node:fs/promises";
import { ExcursorError } from "../core/errors.ts";
import { decodeHeader, decodeRecord, FIRST_LINE, HEADER_BYTES, type RecordHeader } from "./record-format.ts";
import type { CaptureRecord } from "./records.ts";

/** How a capture ended. `cut`: in the middle of a record, as after a crash. `damaged`: what follows cannot be read. */
export interface CaptureTail {
  readonly type: "whole" | "cut" | "damaged";
  /** Where the last whole record ends. */
  readonly offset: number;
}

/** A header in the file, and its payload on demand. */
export interface StoredRecord extends RecordHeader {
  readonly offset: number;
  /** Undefined if the payload is damaged. The bytes hold until the next record is read. */
  read(): CaptureRecord | undefined;
}

const CHUNK_BYTES = 1024 * 1024;
/** No message on the wire is larger. */
const MAX_PAYLOAD_BYTES = 256 * 1024 * 1024;

/**
 * Reads a capture from its beginning, in constant memory beside the largest record. Returns how it ended. A file that is
 * still written can be read again from `offset`.
 */
export async function* readCapture(file: string, offset = 0): AsyncGenerator<StoredRecord, CaptureTail> {
  const handle = await openCapture(file);
  try {
    let at = Math.max(offset, FIRST_LINE.length);
    let buffer: Buffer = Buffer.alloc(0);
    let start = at;
    /** Makes `count` bytes at `at` available, if the file has them. */
    const fill = async (count: number): Promise<boolean> => {
      while (start + buffer.length < at + count) {
        const more = Buffer.allocUnsafe(Math.max(CHUNK_BYTES, count));
        const { bytesRead } = await handle.read(more, 0, more.length, start + buffer.length);
        if (bytesRead === 0) return false;
        buffer = Buffer.concat([buffer.subarray(at - start), more.subarray(0, bytesRead)]);
        start = at;
      }
      return true;
    };
    for (;;) {
      if (!(await fill(HEADER_BYTES))) return { type: start + buffer.length > at ? "cut" : "whole", offset: at };
      const header = decodeHeader(buffer.subarray(at - start, at - start + HEADER_BYTES));
      if (!header || header.length > MAX_PAYLOAD_BYTES) return { type: "damaged", offset: at };
      if (!(await fill(HEADER_BYTES + header.length))) return { type: "cut", offset: at };
      const from = at - start + HEADER_BYTES;
      const payload = buffer.subarray(from, from + header.length);
      yield { ...header, offset: at, read: () => decodeRecord(header, payload) };
      at += HEADER_BYTES + header.length;
    }
  } finally {
    await handle.close();
  }
}

async function openCapture(file: string): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  const first = Buffer.alloc(FIRST_LINE.length);
  try {
    handle = await open(file);
    const { bytesRead } = await handle.read(first, 0, first.length, 0);
    if (first.subarray(0, bytesRead).toString("latin1") === FIRST_LINE) return handle;
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
      ? `${file} is a capture of another version of Excursor.`
      : `${file} is not a capture, or ends within its first line.`,
    { hint: isOther ? "Read it with the version that wrote it." : "Give a file that `excursor capture` has written." },
  );
}
