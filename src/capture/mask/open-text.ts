import type { Masker } from "./masker.ts";
import { isBoundary } from "./word-boundary.ts";

/** What may stand before a secret and tell that it is one: `Bearer `, `"encryption_key": "`. */
const CONTEXT_BYTES = 48;
/** So much text is masked at once. */
const BATCH_BYTES = 4 * 1024;
/** Of a longer word, only the end waits. */
const MAX_WORD_BYTES = 16 * 1024;
/** A secret in such a word, or one of several words, is masked as a whole if it is no longer than this. */
const HELD_BYTES = 4 * 1024;

/** Tenths of a second. A text that pauses for longer is masked as far as it is known. */
const MAX_PAUSES = 50;

/** Where the held bytes are, of which the first has the offset `first`. */
export interface HeldBytes {
  readonly bytes: Buffer;
  readonly first: number;
}

/** A text that comes in pieces: its end, which is not masked yet. Offsets are those of the held bytes of the call. */
export class OpenText {
  /** The context, and the text that is not masked. */
  #text = Buffer.allocUnsafeSlow(64);
  #context = 0;
  #size = 0;
  /** For each piece: the offset of its frame, its own, and its length. */
  readonly #pieces: number[] = [];
  /** Where the last word begins, and how far it was looked for. */
  #wordsEnd = 0;
  #searched = 0;
  #dueAt = BATCH_BYTES;
  /** How often nothing new had come. */
  #pauses = 0;

  /** The offset of the first frame with text that is not masked. */
  get firstFrame(): number | undefined {
    return this.#pieces[0];
  }

  /** True if there is enough text to mask it. */
  get isDue(): boolean {
    return this.#size >= this.#dueAt;
  }

  /** Adds the piece at `start`, which is `bytes` from `from` to `to`. */
  append(frame: number, start: number, bytes: Uint8Array, from: number, to: number): void {
    this.#pieces.push(frame, start, to - from);
    if (this.#size + to - from > this.#text.length) this.#grow(to - from);
    copyBytes(bytes, from, to, this.#text, this.#size);
    this.#size += to - from;
    this.#pauses = 0;
  }

  /** Masks the text up to its last word. */
  settleWords(masker: Masker, held: HeldBytes): void {
    const words = this.#endOfWords(this.#size - Math.min(masker.longestPhrase, HELD_BYTES));
    const isTooLong = this.#size - this.#context > MAX_WORD_BYTES;
    const end = words <= this.#context && isTooLong ? this.#size - HELD_BYTES : words;
    if (!this.#settle(end, masker, held) && isTooLong) this.#settle(this.#size, masker, held);
    this.#dueAt = this.#size + BATCH_BYTES;
  }

  /** Called every tenth of a second. Masks the last word, too, if the text has paused for five seconds. */
  settleInTime(masker: Masker, held: HeldBytes): void {
    if (this.#pauses++ < MAX_PAUSES) this.settleWords(masker, held);
    else this.settleAll(masker, held);
  }

  /** Masks the whole text, although the last word may go on. */
  settleAll(masker: Masker, held: HeldBytes): void {
    this.#settle(this.#size, masker, held);
    this.#dueAt = this.#size + BATCH_BYTES;
  }

  /** Masks the text up to `wanted`, or to a secret that goes on behind it. Returns whether it could. */
  #settle(wanted: number, masker: Masker, { bytes, first }: HeldBytes): boolean {
    if (wanted <= this.#context) return false;
    const text = this.#text.subarray(0, this.#size);
    const isClean = masker.isClean(text);
    const end = isClean ? wanted : masker.mask(text, wanted);
    if (end <= this.#context) return false;
    const pieces = this.#pieces;
    let at = this.#context;
    let done = 0;
    for (; done < pieces.length && at < end; done += 3) {
      const start = pieces[done + 1] ?? 0;
      const length = pieces[done + 2] ?? 0;
      if (!isClean) text.copy(bytes, start - first, at, Math.min(at + length, end));
      at += length;
      if (at <= end) continue;
      // The rest of a piece is a piece.
      pieces[done + 1] = start + length - (at - end);
      pieces[done + 2] = at - end;
      break;
    }
    pieces.splice(0, done);
    const kept = Math.max(0, end - CONTEXT_BYTES);
    this.#text.copyWithin(0, kept, this.#size);
    this.#size -= kept;
    this.#context = end - kept;
    this.#wordsEnd = this.#context;
    this.#searched = this.#context;
    return true;
  }

  /** Returns where the last word before `limit` begins. */
  #endOfWords(limit: number): number {
    let at = limit;
    while (at > this.#searched && !isBoundary(this.#text[at - 1] ?? 0)) at--;
    if (at > this.#searched) this.#wordsEnd = at;
    this.#searched = Math.max(this.#searched, limit);
    return this.#wordsEnd;
  }

  #grow(bytes: number): void {
    const grown = Buffer.allocUnsafeSlow(2 * (this.#size + bytes));
    this.#text.copy(grown, 0, 0, this.#size);
    this.#text = grown;
  }
}

/** A call into the engine takes longer than a loop over a few bytes. */
const FEW_BYTES = 48;

export function copyBytes(source: Uint8Array, from: number, to: number, target: Buffer, at: number): void {
  if (to - from > FEW_BYTES) target.set(source.subarray(from, to), at);
  else for (let index = from; index < to; index++) target[at + index - from] = source[index] ?? 0;
}
