import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { maskedWords, shapeOf } from "./masked-words.ts";

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;
const PATH = /(?<![\w/])\/[\w.+@ -]+(?:\/[\w.+@ -]+)+/g;
const BLOB_ID_BYTES = 32;
const MAX_IDS = 100_000;
const MAX_DEPTH = 20;

/**
 * Maps what differs in a recording to what it is now: UUIDs, blob ids, and paths and secrets, which captures mask. It learns them from two
 * messages that mean the same, one recorded and one new. Both have the same length, so that lengths in a message still hold.
 */
export class IdMap {
  /** One character for each byte. */
  readonly #ids = new Map<string, string>();

  addBlob(from: Uint8Array, to: Uint8Array): void {
    this.#add(latin1(from), latin1(to));
    this.#add(Buffer.from(from).toString("hex"), Buffer.from(to).toString("hex"));
  }

  /** Replaces a UUID by another one. */
  addUuid(from: string, to: string): void {
    this.#add(from, to);
  }

  /** Learns the ids in which both messages differ. They are read without a schema. */
  learn(recorded: Uint8Array, now: Uint8Array, depth = 0): void {
    const [before, after] = [fieldsOf(recorded), fieldsOf(now)];
    if (!before || !after || depth > MAX_DEPTH) return;
    for (const [place, old] of before) {
      const current = after.get(place);
      if (!current || Buffer.compare(old, current) === 0) continue;
      const isBlobId = old.length === BLOB_ID_BYTES && current.length === BLOB_ID_BYTES && !isText(old);
      if (isBlobId) this.addBlob(old, current);
      else if (!isText(old) && fieldsOf(old) && fieldsOf(current)) this.learn(old, current, depth + 1);
      else this.#learnText(latin1(old), latin1(current));
    }
  }

  #learnText(old: string, current: string): void {
    this.#learnUuids(old.match(UUID) ?? [], current.match(UUID) ?? []);
    if (old.length !== current.length) return;
    const paths = current.match(PATH) ?? [];
    for (const [index, before] of (old.match(PATH) ?? []).entries()) this.#learnFolder(before, paths[index] ?? "");
    for (const [before, now] of maskedWords(old, current)) this.#add(before, now);
  }

  /** Learns the folders in which two paths differ, if those of the recorded one may be masks. */
  #learnFolder(before: string, now: string): void {
    if (before === now || shapeOf(before) !== shapeOf(now)) return;
    const last = [...before].findLastIndex((character, at) => character !== now[at]);
    const end = before.indexOf("/", last);
    if (end > 0) this.#add(before.slice(0, end), now.slice(0, end));
  }

  /** Returns the same bytes if they hold no recorded id. */
  apply(bytes: Uint8Array): Uint8Array {
    const text = latin1(bytes);
    let mapped = text;
    for (const [from, to] of this.#ids) if (mapped.includes(from)) mapped = mapped.replaceAll(from, () => to);
    return mapped === text ? bytes : Buffer.from(mapped, "latin1");
  }

  applyText(text: string): string {
    return Buffer.from(this.apply(Buffer.from(text))).toString("utf8");
  }

  #learnUuids(recorded: readonly string[], now: readonly string[]): void {
    if (recorded.length !== now.length) return;
    for (const [index, id] of recorded.entries()) this.#add(id, now[index] ?? id);
  }

  #add(from: string, to: string): void {
    if (from === to) this.#ids.delete(from);
    else if (from.length === to.length && this.#ids.size < MAX_IDS) this.#ids.set(from, to);
  }
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");

const isText = (bytes: Uint8Array): boolean => bytes.every((byte) => byte >= 0x20 && byte < 0x7f);

/** The length-delimited fields of a message by number and position; undefined if these bytes are no message. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<string, Uint8Array> | undefined {
  const fields = new Map<string, Uint8Array>();
  const counts = new Map<number, number>();
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      if (wireType !== WireType.LengthDelimited) {
        reader.skip(wireType);
        continue;
      }
      const position = counts.get(number) ?? 0;
      counts.set(number, position + 1);
      fields.set(`${number}.${position}`, reader.bytes());
    }
  } catch {
    return undefined;
  }
  return reader.pos === reader.len ? fields : undefined;
}
