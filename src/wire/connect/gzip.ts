import { gunzip as gunzipLater, gunzipSync } from "node:zlib";
import { ExcursorError } from "../../core/errors.ts";
import { OVERSIZED } from "./envelope.ts";

/** Decompression with a bounded output. Nested gzip is not unpacked. */

/** Up to this size payloads are inflated on the event loop: it takes microseconds, a thread ten times as long. */
export const MAX_SYNC_BYTES = 4096;

/** Output chunk of the thread pool. Zlib's default of 16 KiB means a thousand round trips for a large message. */
const CHUNK_BYTES = 64 * 1024;

export function gunzipNow(payload: Uint8Array, maxBytes: number): Buffer {
  try {
    return gunzipSync(payload, { maxOutputLength: maxBytes });
  } catch (error) {
    throw inflateError(error, maxBytes);
  }
}

export function gunzip(payload: Uint8Array, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    gunzipLater(payload, { maxOutputLength: maxBytes, chunkSize: CHUNK_BYTES }, (error, result) => {
      if (error) reject(inflateError(error, maxBytes));
      else resolve(result);
    });
  });
}

export function encodingError(encoding: string): ExcursorError {
  return new ExcursorError("unknown_encoding", [], { context: { encoding: encoding.slice(0, 40) } });
}

function inflateError(cause: unknown, limit: number): ExcursorError {
  if ((cause as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") {
    return new ExcursorError("inflate_too_large", [], { hint: OVERSIZED, context: { limit }, cause });
  }
  return new ExcursorError("gzip_invalid", [], { cause });
}
