import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";
import { SecretForms } from "../../observe/secret-forms.ts";
import { FieldIndex, isString, messageOf, streamAt } from "./leaves.ts";
import { isOrdinaryText, NAMED_SECRET_BYTES, NAMED_SECRET_QUOTES } from "./message-masker.ts";

/** A field on its way from the message: a message or a text. */
interface Place {
  /** Of a text. */
  readonly stream: string | undefined;
  readonly type: DescMessage;
  readonly path: string;
  readonly depth: number;
  /** By number. Null: not a part of a delta. */
  readonly fields: (Place | null | undefined)[];
}

const ENVELOPE_BYTES = 5;
const MAX_DEPTH = 8;
const MAX_FIELD = 255;
const MAX_PLACES = 4096;
const QUOTE = 0x22;

/**
 * Finds the texts of deltas, which are almost all messages of a stream, in a fraction of a microsecond. Other messages
 * are left to `MessageMasker`: any text that is not streamed, bytes, unknown fields, fields that are or name secrets, and
 * whatever else the masker does more with than to join and mask texts.
 */
export class DeltaFinder {
  /** Where the frame ends. */
  end = 0;
  /** How many texts it has, each a piece of a stream. */
  count = 0;
  readonly streams: string[] = [];
  readonly starts: number[] = [];
  readonly ends: number[] = [];
  /** How many frames were found. */
  found = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  readonly #index = new FieldIndex();
  readonly #root: Place;
  #places = 0;
  /** Where the last text ended. */
  #textEnd = 0;

  constructor(schema: DescMessage) {
    this.#root = { stream: undefined, type: schema, path: "", depth: 0, fields: [] };
  }

  /** Takes the frame at `start`. False if it is not whole, or no delta. */
  find(bytes: Uint8Array, start: number): boolean {
    const from = start + ENVELOPE_BYTES;
    // Longer ones, and those with flags, are not common.
    if (from > bytes.length || bytes[start] !== 0 || bytes[start + 1] !== 0 || bytes[start + 2] !== 0) return false;
    const end = from + (((bytes[start + 3] ?? 0) << 8) | (bytes[start + 4] ?? 0));
    if (end > bytes.length) return false;
    this.#bytes = bytes;
    this.end = end;
    this.count = 0;
    this.#textEnd = from;
    const isDelta = this.#walk(from, end, this.#root) && this.#endsGap(end) && !this.#mayNameSecret(from, end);
    if (isDelta) this.found++;
    return isDelta;
  }

  #walk(from: number, end: number, place: Place): boolean {
    const bytes = this.#bytes;
    for (let at = from; at < end; ) {
      const first = bytes[at++] ?? 0;
      const wireType = first & 7;
      let number = first >> 3;
      if (first >= 0x80) {
        const second = bytes[at++] ?? 0;
        if (second >= 0x80) return false;
        number = (number & 0x0f) | (second << 4);
      }
      if (number === 0) return false;
      if (wireType === WireType.Varint) {
        const limit = at + 10;
        while ((bytes[at] ?? 0) >= 0x80) at++;
        if (++at > limit) return false;
      } else if (wireType === WireType.LengthDelimited) {
        let length = bytes[at++] ?? 0;
        if (length >= 0x80) {
          const second = bytes[at++] ?? 0;
          if (second >= 0x80) return false;
          length = (length & 0x7f) | (second << 7);
        }
        const field = place.fields[number] ?? this.#field(place, number);
        if (field === null || at + length > end) return false;
        if (field.stream === undefined ? !this.#walk(at, at + length, field) : !this.#take(at, length, field.stream)) {
          return false;
        }
        at += length;
      } else return false;
      if (at > end) return false;
    }
    return true;
  }

  #take(start: number, length: number, stream: string): boolean {
    if (length === 0) return true;
    if (!this.#endsGap(start)) return false;
    const index = this.count++;
    this.streams[index] = stream;
    this.starts[index] = start;
    this.ends[index] = start + length;
    this.#textEnd = start + length;
    return true;
  }

  /** Numbers, tags and lengths are not searched for secrets, so there must be too few for one. */
  #endsGap(at: number): boolean {
    return at - this.#textEnd < SecretForms.MIN_LENGTH;
  }

  /** A text can say that it has a secret. */
  #mayNameSecret(from: number, end: number): boolean {
    if (end - from < NAMED_SECRET_BYTES) return false;
    let quotes = 0;
    for (let at = from; at < end; at++) if (this.#bytes[at] === QUOTE) quotes++;
    return quotes >= NAMED_SECRET_QUOTES;
  }

  #field(place: Place, number: number): Place | null {
    const { fields, type } = place;
    if (fields[number] === null || number > MAX_FIELD || place.depth >= MAX_DEPTH) return null;
    const field = this.#index.find(type, number);
    const found = (field && this.#places < MAX_PLACES && this.#placeOf(place, field)) || null;
    this.#places++;
    fields[number] = found;
    return found;
  }

  #placeOf({ type, path: parent, depth }: Place, field: DescField): Place | undefined {
    const path = `${parent}.${field.name}`;
    const message = messageOf(field);
    if (message) return { stream: undefined, type: message, path, depth: depth + 1, fields: [] };
    const stream = isString(field) && isOrdinaryText(type, field.name) ? streamAt(path) : undefined;
    return stream === undefined ? undefined : { stream, type, path, depth, fields: [] };
  }
}
