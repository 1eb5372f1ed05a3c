import type { FramesRecord } from "../record-format.ts";
import type { CaptureRecord } from "../records.ts";
import type { DeltaFinder } from "./delta-finder.ts";
import type { Masker } from "./masker.ts";
import type { Piece } from "./message-masker.ts";
import { copyBytes, type HeldBytes, OpenText } from "./open-text.ts";

/** Text is masked after this time, or when there is enough of it. */
const BATCH_MS = 100;
const MAX_RECORDS = 1024;
const MAX_BYTES = 1024 * 1024;
/** Memory that a call keeps while nothing waits. */
const KEPT_BYTES = 64 * 1024;
/** A damaged record is a small loss. */
const MAX_FRAMES_BYTES = 64 * 1024;
/** So much is looked through before it is kept. */
const MAX_RUN_BYTES = 16 * 1024;
const NOTHING = Buffer.alloc(0);

type FramesPlace = Pick<FramesRecord, "call" | "at" | "direction">;

/** A record, and the place of its content in the held bytes. */
interface Held {
  readonly record: CaptureRecord | FramesRecord;
  start: number;
  end: number;
}

/**
 * The records of one call, in order. A record whose text ends within a word waits for the next one, because the word may
 * be the beginning of a secret. Whatever follows waits behind it. Offsets count the bytes of the call.
 */
export class HeldRecords {
  readonly #masker: Masker;
  readonly #write: (record: CaptureRecord | FramesRecord) => void;
  readonly #held: Held[] = [];
  /** The content of the held records. */
  #bytes: Buffer = NOTHING;
  /** The offsets of the first byte and of the end. */
  #first = 0;
  #end = 0;
  /** By stream. */
  readonly #open = new Map<string, OpenText>();
  /** The frames that the next one may join. */
  #frames: (Held & { readonly record: FramesRecord }) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(masker: Masker, write: (record: CaptureRecord | FramesRecord) => void) {
    this.#masker = masker;
    this.#write = write;
  }

  add(record: CaptureRecord, pieces: readonly Piece[] = []): void {
    if (pieces.length === 0 && this.#held.length === 0) {
      this.#write(record);
      return;
    }
    const start = this.#end;
    const bytes = record.type === "message" ? record.bytes : NOTHING;
    this.#keep(bytes, 0, bytes.length);
    this.#held.push({ record, start, end: this.#end });
    this.#frames = undefined;
    let isDue = false;
    for (const piece of pieces) {
      const text = this.#textOf(piece.stream);
      text.append(start, start + piece.start, bytes, piece.start, piece.end);
      isDue ||= text.isDue;
    }
    this.#added(isDue);
  }

  /**
   * Adds the frames of a chunk from `from` on, as long as they are deltas. Returns where they end. Those of one direction
   * and one time become one record.
   */
  addFrames(place: FramesPlace, chunk: Uint8Array, from: number, finder: DeltaFinder): number {
    let start = from;
    for (;;) {
      const offset = this.#end;
      const shift = offset - start;
      let end = start;
      let isDue = false;
      while (!isDue && end - start < MAX_RUN_BYTES && finder.find(chunk, end)) {
        for (let index = 0; index < finder.count; index++) {
          const piece = finder.starts[index] ?? 0;
          const text = this.#textOf(finder.streams[index] ?? "");
          text.append(end + shift, piece + shift, chunk, piece, finder.ends[index] ?? 0);
          isDue ||= text.isDue;
        }
        end = finder.end;
      }
      if (end === start) return end;
      // Once for many frames: they follow each other here as they do in the chunk.
      this.#keep(chunk, start, end);
      this.#joinFrames(place, offset);
      this.#added(isDue);
      start = end;
    }
  }

  /** Masks and writes everything that waits. */
  flush(): void {
    this.#settle((text, held) => text.settleAll(this.#masker, held));
  }

  #joinFrames({ call, at, direction }: FramesPlace, offset: number): void {
    const last = this.#frames;
    if (last?.record.at === at && last.record.direction === direction && offset - last.start < MAX_FRAMES_BYTES) {
      last.end = this.#end;
      return;
    }
    const record: FramesRecord = { type: "frames", call, at, direction, bytes: NOTHING };
    this.#frames = { record, start: offset, end: this.#end };
    this.#held.push(this.#frames);
  }

  #textOf(stream: string): OpenText {
    let text = this.#open.get(stream);
    if (!text) {
      text = new OpenText();
      this.#open.set(stream, text);
    }
    return text;
  }

  #keep(bytes: Uint8Array, start: number, end: number): void {
    const size = this.#end - this.#first;
    const needed = size + end - start;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(1024, 2 * needed));
      this.#bytes.copy(grown, 0, 0, size);
      this.#bytes = grown;
    }
    copyBytes(bytes, start, end, this.#bytes, size);
    this.#end += end - start;
  }

  #added(isDue: boolean): void {
    if (isDue) this.#settle((text, held) => text.settleWords(this.#masker, held));
    while (this.#end - this.#first > MAX_BYTES || this.#held.length > MAX_RECORDS) this.#settleOldest();
    this.#timer ??= setTimeout(() => this.#onTimer(), BATCH_MS).unref();
  }

  #onTimer(): void {
    this.#settle((text, held) => text.settleInTime(this.#masker, held));
    if (this.#held.length > 0) this.#timer?.refresh();
    else this.#timer = undefined;
  }

  #settle(settle: (text: OpenText, held: HeldBytes) => void): void {
    const held = { bytes: this.#bytes, first: this.#first };
    for (const text of this.#open.values()) settle(text, held);
    this.#release();
  }

  /** Masks the text that everything else waits for. */
  #settleOldest(): void {
    const frame = this.#firstOpenFrame();
    this.#settle((text, held) => text.firstFrame === frame && text.settleAll(this.#masker, held));
  }

  #firstOpenFrame(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { firstFrame } of this.#open.values()) {
      if (firstFrame !== undefined && firstFrame < first) first = firstFrame;
    }
    return first;
  }

  /** Writes what is masked, up to the first frame that is not. */
  #release(): void {
    const open = this.#firstOpenFrame();
    let written = 0;
    for (const held of this.#held) {
      const end = Math.min(held.end, open);
      if (held.start < end || held.end <= open) this.#writeHeld(held, end);
      if (held.end > open) {
        held.start = Math.max(held.start, end);
        break;
      }
      written++;
    }
    this.#held.splice(0, written);
    if (this.#held.length === 0) this.#frames = undefined;
    this.#drop(this.#held[0]?.start ?? this.#end);
  }

  #writeHeld({ record, start }: Held, end: number): void {
    const hasContent = record.type === "message" || record.type === "frames";
    this.#write(
      hasContent ? { ...record, bytes: this.#bytes.subarray(start - this.#first, end - this.#first) } : record,
    );
  }

  /** Forgets the bytes before an offset. */
  #drop(offset: number): void {
    this.#bytes.copyWithin(0, offset - this.#first, this.#end - this.#first);
    this.#first = offset;
    if (this.#end === offset && this.#bytes.length > KEPT_BYTES) this.#bytes = NOTHING;
  }
}
