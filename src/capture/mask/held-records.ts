import type { CaptureRecord } from "../records.ts";
import type { Masker } from "./masker.ts";
import type { Piece } from "./message-masker.ts";

/** What may stand before a secret and tell that it is one: `Bearer `. */
const CONTEXT_LENGTH = 16;
/** A word that is longer is masked as far as it is known. */
const MAX_WORD_LENGTH = 8 * 1024;
/** Words are masked together: to look at one by itself takes as long as at fifty. */
const BATCH_BYTES = 512;
const BATCH_MS = 100;
const MAX_RECORDS = 1024;
const MAX_BYTES = 1024 * 1024;
/** A text that pauses for so long is masked as far as it is known. */
const MAX_PAUSE_MS = 5000;

interface Held {
  readonly record: CaptureRecord;
  /** Those that are not masked as a whole. */
  pieces: readonly Piece[];
}

/** The end of a text, which may go on. */
interface OpenText {
  readonly pieces: Piece[];
  /** Of all pieces. */
  length: number;
  /** How much of the first piece is masked. */
  masked: number;
  /** Where the last word begins. */
  wordsEnd: number;
  /** The text before the part that is not masked. */
  context: string;
}

/**
 * The records of one call, in order. A record whose text ends within a word waits for the next one, because the word may
 * be the beginning of a secret. Whatever follows waits behind it.
 */
export class HeldRecords {
  readonly #masker: Masker;
  readonly #write: (record: CaptureRecord) => void;
  #held: Held[] = [];
  #bytes = 0;
  /** By stream. */
  readonly #open = new Map<string, OpenText>();
  #timer: NodeJS.Timeout | undefined;
  #batch: NodeJS.Timeout | undefined;

  constructor(masker: Masker, write: (record: CaptureRecord) => void) {
    this.#masker = masker;
    this.#write = write;
  }

  add(record: CaptureRecord, pieces: readonly Piece[] = []): void {
    if (pieces.length === 0 && this.#held.length === 0) {
      this.#write(record);
      return;
    }
    this.#held.push({ record, pieces });
    this.#bytes += record.type === "message" ? record.bytes.length : 0;
    for (const piece of pieces) this.#join(piece);
    if (this.#held.length > MAX_RECORDS || this.#bytes > MAX_BYTES) this.flush();
    else this.#release();
  }

  /** Masks and writes everything that waits. */
  flush(): void {
    for (const open of this.#open.values()) this.#settle(open, open.length);
    this.#release();
  }

  #join(piece: Piece): void {
    const open = this.#open.get(piece.stream) ?? {
      pieces: [],
      length: 0,
      masked: 0,
      wordsEnd: 0,
      context: "",
    };
    this.#open.set(piece.stream, open);
    open.pieces.push(piece);
    const end = endOfWords(piece.bytes);
    const before = open.length;
    open.length += piece.bytes.length;
    if (end > 0) open.wordsEnd = before + end;
    if (open.length - open.masked > MAX_WORD_LENGTH) this.#settle(open, open.length);
    else if (open.wordsEnd - open.masked >= BATCH_BYTES) this.#settle(open, open.wordsEnd);
    else if (open.wordsEnd > open.masked) this.#batch ??= setTimeout(() => this.#settleWords(), BATCH_MS).unref();
  }

  #settleWords(): void {
    this.#batch = undefined;
    for (const open of this.#open.values()) this.#settle(open, open.wordsEnd);
    this.#release();
  }

  /** Masks the open text up to `end`, and lets the pieces go that are masked as a whole. */
  #settle(open: OpenText, end: number): void {
    const text = textOf(open.pieces);
    if (end <= open.masked) return;
    const fresh = text.slice(open.masked, end);
    const masked = Buffer.from(open.context + fresh, "latin1");
    this.#masker.mask(masked);
    const before = text.slice(0, open.masked);
    const result = Buffer.from(before + masked.toString("latin1", open.context.length) + text.slice(end), "latin1");
    let at = 0;
    const done = new Set<Piece>();
    for (const piece of open.pieces) {
      result.copy(piece.bytes, 0, at);
      at += piece.bytes.length;
      if (at <= end) done.add(piece);
      else break;
    }
    const doneLength = [...done].reduce((sum, { bytes }) => sum + bytes.length, 0);
    open.context = (open.context + fresh).slice(-CONTEXT_LENGTH);
    open.masked = end - doneLength;
    open.wordsEnd = open.masked;
    open.length -= doneLength;
    open.pieces.splice(0, done.size);
    for (const held of this.#held) held.pieces = held.pieces.filter((piece) => !done.has(piece));
  }

  #release(): void {
    const end = this.#held.findIndex(({ pieces }) => pieces.length > 0);
    const ready = this.#held.splice(0, end === -1 ? this.#held.length : end);
    for (const { record } of ready) {
      this.#bytes -= record.type === "message" ? record.bytes.length : 0;
      this.#write(record);
    }
    if (this.#held.length > 0) {
      this.#timer = this.#timer?.refresh() ?? setTimeout(() => this.flush(), MAX_PAUSE_MS).unref();
    }
  }
}

const textOf = (pieces: readonly Piece[]): string => pieces.map(({ bytes }) => bytes.toString("latin1")).join("");

/** Returns where the last word begins. Secrets have no white space, quotes, commas or characters beyond ASCII. */
function endOfWords(text: Buffer): number {
  let at = text.length;
  while (at > 0 && !isBoundary(text[at - 1] ?? 0)) at--;
  return at;
}

const BOUNDARIES: ReadonlySet<number> = new Set(Buffer.from("\"'`<>,;"));

const isBoundary = (byte: number): boolean => byte <= 0x20 || byte >= 0x80 || BOUNDARIES.has(byte);
