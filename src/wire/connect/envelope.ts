import { ExcursorError } from "../../core/errors.ts";

/** Connect's envelope of a message: one byte of flags, the length (four bytes, big-endian), the payload. */

/** The payload is compressed by the stream's `connect-content-encoding`. */
export const FLAG_COMPRESSED = 1;
/** The payload is the JSON that ends the stream. */
export const FLAG_END = 2;

/** The hint for oversized messages. The backend's messages are far below the limits, but histories grow. */
export const OVERSIZED = "Start a new conversation. If it happens again, check the upstream address.";

const KNOWN_FLAGS = FLAG_COMPRESSED | FLAG_END;
const HEADER_BYTES = 5;
const NOTHING = new Uint8Array(0);

export function encodeFrame(payload: Uint8Array, flags = 0): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  frame[0] = flags;
  frame.writeUInt32BE(payload.length, 1);
  frame.set(payload, HEADER_BYTES);
  return frame;
}

export interface FrameLimits {
  /** The longest payload of a message on the wire. */
  readonly maxFrameBytes: number;
  /** The longest payload of the end frame. Default: `maxFrameBytes`. */
  readonly maxEndBytes?: number;
}

/** The payload may be a view, which keeps its whole chunk alive. The decoder does not reuse its memory. */
export type OnFrame = (flags: number, payload: Uint8Array) => void;

/**
 * Splits a byte stream into frames. Linear in the bytes received, whatever the chunking. A length is checked before
 * anything is allocated, and memory grows with the bytes received, not with those announced. Only a frame that a chunk
 * boundary splits is copied; all others are views.
 *
 * An error is final: the rest of the stream cannot be read.
 */
export class FrameDecoder {
  readonly #maxFrameBytes: number;
  readonly #maxEndBytes: number;
  /** `#held[0, #size)` is the beginning of a split frame. */
  #held: Uint8Array = NOTHING;
  #size = 0;

  constructor({ maxFrameBytes, maxEndBytes = maxFrameBytes }: FrameLimits) {
    this.#maxFrameBytes = maxFrameBytes;
    this.#maxEndBytes = maxEndBytes;
  }

  get heldBytes(): number {
    return this.#held.length;
  }

  /** How many bytes complete the next frame, or first its header. */
  get missingBytes(): number {
    return (this.#size < HEADER_BYTES ? HEADER_BYTES : this.#frameEnd(this.#held, 0)) - this.#size;
  }

  push(chunk: Uint8Array, onFrame: OnFrame): void {
    let offset = 0;
    if (this.#size > 0) {
      offset = this.#hold(chunk, offset, HEADER_BYTES);
      if (this.#size < HEADER_BYTES) return;
      const end = this.#frameEnd(this.#held, 0);
      offset = this.#hold(chunk, offset, end);
      if (this.#size < end) return;
      const frame = this.#held;
      this.#held = NOTHING;
      this.#size = 0;
      onFrame(frame[0] ?? 0, frame.subarray(HEADER_BYTES, end));
    }
    while (offset < chunk.length) {
      if (chunk.length - offset < HEADER_BYTES) {
        this.#hold(chunk, offset, HEADER_BYTES);
        return;
      }
      const end = this.#frameEnd(chunk, offset);
      if (end > chunk.length) {
        this.#hold(chunk, offset, end - offset);
        return;
      }
      onFrame(chunk[offset] ?? 0, chunk.subarray(offset + HEADER_BYTES, end));
      offset = end;
    }
  }

  /** Ends the stream. Throws if a frame is unfinished. */
  finish(): void {
    if (this.#size === 0) return;
    throw new ExcursorError("stream_truncated", [], { context: { heldBytes: this.#size } });
  }

  /** Checks the header at `start`, and returns where its frame ends. */
  #frameEnd(bytes: Uint8Array, start: number): number {
    const flags = bytes[start] ?? 0;
    const high = ((bytes[start + 1] ?? 0) << 8) | (bytes[start + 2] ?? 0);
    const low = ((bytes[start + 3] ?? 0) << 8) | (bytes[start + 4] ?? 0);
    const length = high * 0x10000 + low;
    if ((flags & ~KNOWN_FLAGS) !== 0) {
      throw new ExcursorError("frame_flags", [], { context: { flags } });
    }
    const limit = flags & FLAG_END ? this.#maxEndBytes : this.#maxFrameBytes;
    if (length > limit) {
      throw new ExcursorError("frame_too_large", "A message of the stream is larger than allowed.", {
        hint: OVERSIZED,
        context: { flags, length, limit },
      });
    }
    return start + HEADER_BYTES + length;
  }

  /** Copies bytes of the chunk until `target` bytes are held. Returns the offset of the rest. */
  #hold(chunk: Uint8Array, offset: number, target: number): number {
    const end = Math.min(chunk.length, offset + target - this.#size);
    if (end <= offset) return offset;
    const size = this.#size + end - offset;
    if (size > this.#held.length) {
      // Doubling keeps the copying linear; the target bounds old and new buffer by twice the frame.
      const larger = Buffer.allocUnsafe(Math.min(target, Math.max(size, 2 * this.#held.length)));
      larger.set(this.#size === this.#held.length ? this.#held : this.#held.subarray(0, this.#size));
      this.#held = larger;
    }
    this.#held.set(end - offset === chunk.length ? chunk : chunk.subarray(offset, end), this.#size);
    this.#size = size;
    return end;
  }
}
