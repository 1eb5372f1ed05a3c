import type { Masker } from "./masker.ts";

/** A piece of a streamed text: the text with this number in the message at this offset of the file. */
interface Piece {
  readonly offset: number;
  readonly index: number;
  readonly bytes: Buffer;
  masked?: Buffer;
}

interface Stream {
  pieces: Piece[];
  length: number;
}

/** So much of a text is masked at once. */
const MAX_BYTES = 1024 * 1024;
const MAX_PIECES = 32 * 1024;
/** And so much of it once more, with what follows: no secret is longer. */
const TAIL_BYTES = 32 * 1024;
const TAIL_PIECES = 8 * 1024;

/** Joins the pieces of streamed texts, and masks what is a secret only as a whole. */
export class StreamTexts {
  readonly #masker: Masker;
  readonly #streams = new Map<string, Stream>();
  /** Pieces with a part of a secret, masked. */
  readonly #masked = new Map<number, Map<number, Buffer>>();

  constructor(masker: Masker) {
    this.#masker = masker;
  }

  add(name: string, offset: number, index: number, bytes: Buffer): void {
    const stream = this.#streams.get(name) ?? { pieces: [], length: 0 };
    this.#streams.set(name, stream);
    stream.pieces.push({ offset, index, bytes: Buffer.from(bytes) });
    stream.length += bytes.length;
    if (stream.length > MAX_BYTES || stream.pieces.length > MAX_PIECES) this.#mask(stream);
  }

  /** Ends all streams. */
  end(): void {
    for (const stream of this.#streams.values()) this.#mask(stream);
    this.#streams.clear();
  }

  /** Returns the masked pieces of the message at an offset by their numbers, if it has some. */
  at(offset: number): ReadonlyMap<number, Buffer> | undefined {
    return this.#masked.get(offset);
  }

  #mask(stream: Stream): void {
    const text = Buffer.concat(stream.pieces.map(({ bytes }) => bytes));
    this.#masker.learn(text, "");
    this.#masker.mask(text);
    let at = 0;
    for (const piece of stream.pieces) {
      const { offset, index, bytes } = piece;
      const masked = text.subarray(at, at + bytes.length);
      at += bytes.length;
      if (masked.equals(bytes)) continue;
      piece.masked ??= Buffer.from(bytes);
      // What was masked before, with the text in front of it, stays so.
      for (const [place, byte] of masked.entries()) if (byte !== bytes[place]) piece.masked[place] = byte;
      const pieces = this.#masked.get(offset) ?? new Map<number, Buffer>();
      this.#masked.set(offset, pieces.set(index, piece.masked));
    }
    stream.pieces = stream.pieces.slice(-TAIL_PIECES);
    stream.length = stream.pieces.reduce((sum, { bytes }) => sum + bytes.length, 0);
    while (stream.length > TAIL_BYTES) stream.length -= stream.pieces.shift()?.bytes.length ?? stream.length;
  }
}
