import { ExcursorError } from "../../core/errors.ts";

/**
 * The envelope that Connect puts around every message of a stream: one byte of flags, the payload's length as four
 * bytes big-endian, the payload.
 */

/** The payload is compressed, with the stream's `connect-content-encoding`. */
export const FLAG_COMPRESSED = 1;
/** The payload is the JSON that ends the stream. */
export const FLAG_END = 2;

/** What the reader of an error can do: no message that the backend sends is near a limit, but histories grow. */
export const OVERSIZED = "Start a new conversation; if it happens there too, check the upstream address.";

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
  /** The longest payload of a message, as it is on the wire. */
  readonly maxFrameBytes: number;
  /** The longest payload of the end frame. Default: as any other. */
  readonly maxEndBytes?: number;
}

/** The decoder never touches a payload again after it handed it out; a view keeps the chunk it came with alive. */
export type OnFrame = (flags: number, payload: Uint8Array) => void;

/**
 * Cuts a byte stream into frames, however it arrives. Linear in the bytes received whatever the chunking, and it
 * holds what was received, never what was announced: a length is checked before anything is allocated for it, and
 * only a frame that a chunk boundary cuts is copied. All others are views into their chunk.
 *
 * An error is final: the rest of the stream cannot be read.
 */
export class FrameDecoder {
  readonly #maxFrameBytes: number;
  readonly #maxEndBytes: number;
  /** The beginning of a cut frame is `#held[0, #size)`. */
  #held: Uint8Array = NOTHING;
  #size = 0;

  constructor({ maxFrameBytes, maxEndBytes = maxFrameBytes }: FrameLimits) {
    this.#maxFrameBytes = maxFrameBytes;
    this.#maxEndBytes = maxEndBytes;
  }

  /** What this decoder keeps in memory now. */
  get heldBytes(): number {
    return this.#held.length;
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

  /** The stream is over. Throws where that leaves a frame unfinished. */
  finish(): void {
    if (this.#size === 0) return;
    throw new ExcursorError("upstream-unavailable", "The stream stopped in the middle of a message.", {
      code: "stream_truncated",
      context: { heldBytes: this.#size },
    });
  }

  /** Where the frame whose header is at `start` ends, once the header is found acceptable. */
  #frameEnd(bytes: Uint8Array, start: number): number {
    const flags = bytes[start] ?? 0;
    const high = ((bytes[start + 1] ?? 0) << 8) | (bytes[start + 2] ?? 0);
    const low = ((bytes[start + 3] ?? 0) << 8) | (bytes[start + 4] ?? 0);
    const length = high * 0x10000 + low;
    if ((flags & ~KNOWN_FLAGS) !== 0) {
      throw new ExcursorError("upstream-protocol", "A message of the stream carries flags that do not exist.", {
        code: "frame_flags",
        context: { flags },
      });
    }
    const limit = flags & FLAG_END ? this.#maxEndBytes : this.#maxFrameBytes;
    if (length > limit) {
      throw new ExcursorError("upstream-protocol", "A message of the stream is larger than allowed.", {
        code: "frame_too_large",
        hint: OVERSIZED,
        context: { flags, length, limit },
      });
    }
    return start + HEADER_BYTES + length;
  }

  /** Moves bytes of the chunk to those held, until these are `target` many; gives the offset of what is left. */
  #hold(chunk: Uint8Array, offset: number, target: number): number {
    const end = Math.min(chunk.length, offset + target - this.#size);
    if (end <= offset) return offset;
    const size = this.#size + end - offset;
    if (size > this.#held.length) {
      // Doubling keeps the copying linear; the target keeps old and new together below twice the frame.
      const grown = Buffer.allocUnsafe(Math.min(target, Math.max(size, 2 * this.#held.length)));
      grown.set(this.#size === this.#held.length ? this.#held : this.#held.subarray(0, this.#size));
      this.#held = grown;
    }
    this.#held.set(end - offset === chunk.length ? chunk : chunk.subarray(offset, end), this.#size);
    this.#size = size;
    return end;
  }
}
