import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** A text or bytes in a message, which holds no other message. */
export interface Leaf {
  readonly start: number;
  readonly end: number;
  /** Of its field, or of its member in JSON. Empty if it has none. */
  readonly name: string;
  /** The message type that the field belongs to. Undefined without a schema. */
  readonly owner: string | undefined;
  /** Set if the text continues in the next message: names the stream that it is part of. */
  readonly stream: string | undefined;
}

type Visit = (leaf: Leaf) => void;

/** No message of the protocol is nested deeper. */
const MAX_DEPTH = 64;
/** Messages with such names carry a piece of a longer text. */
const STREAMED = /delta|stream|partial/;

/** Returns the stream that the texts at a path are pieces of. */
export const streamAt = (path: string): string | undefined => (STREAMED.test(path) ? path : undefined);

/** The fields of messages by their numbers. To look one up in a list takes longer than all the rest. */
export class FieldIndex {
  readonly #types = new Map<DescMessage, ReadonlyMap<number, DescField>>();

  find(type: DescMessage, number: number): DescField | undefined {
    let fields = this.#types.get(type);
    if (!fields) {
      fields = new Map(type.fields.map((field) => [field.number, field]));
      this.#types.set(type, fields);
    }
    return fields.get(number);
  }
}

interface Place {
  readonly name: string;
  readonly owner: string | undefined;
  /** The field names on the way to here. */
  readonly path: string;
}

/** Finds the leaves of a protobuf message. False, and then maybe too few of them, if it is none. */
export function findLeaves(
  bytes: Uint8Array,
  schema: DescMessage | undefined,
  visit: Visit,
  index = new FieldIndex(),
): boolean {
  const walk = (from: number, to: number, type: DescMessage | undefined, path: string, depth: number): boolean => {
    if (depth > MAX_DEPTH) return false;
    const reader = new BinaryReader(bytes.subarray(from, to));
    try {
      while (reader.pos < reader.len) {
        const [number, wireType] = reader.tag();
        if (wireType !== WireType.LengthDelimited) {
          reader.skip(wireType, number);
          continue;
        }
        const length = reader.uint32();
        const start = from + reader.pos;
        const end = start + length;
        if (end > to) return false;
        reader.pos += length;
        const field = type && index.find(type, number);
        const name = field?.name ?? "";
        const place = { name, owner: field && type?.typeName, path: `${path}.${name || number}` };
        if (isNumbers(field)) continue;
        const message = messageOf(field);
        if (message && walk(start, end, message, place.path, depth + 1)) continue;
        if (isString(field)) tell(start, end, place);
        else guess(start, end, place, depth + 1);
      }
      return true;
    } catch {
      return false;
    }
  };
  const tell = (start: number, end: number, { name, owner, path }: Place): void => {
    if (end > start) visit({ start, end, name, owner, stream: streamAt(path) });
  };
  /** Bytes without a schema: a message, or a leaf. */
  const guess = (start: number, end: number, place: Place, depth: number): void => {
    const isMessage = !looksLikeText(bytes.subarray(start, end)) && isProtobuf(start, end, depth);
    if (isMessage) walk(start, end, undefined, place.path, depth);
    else tell(start, end, place);
  };
  /** A dry run: leaves of something that is no message would be wrong. */
  const isProtobuf = (start: number, end: number, depth: number): boolean =>
    end > start && depth < MAX_DEPTH && findWhole(bytes.subarray(start, end));
  return walk(0, bytes.length, schema, "", 0);
}

/** True if the bytes are fields from beginning to end. */
function findWhole(bytes: Uint8Array): boolean {
  const reader = new BinaryReader(bytes);
  try {
    while (reader.pos < reader.len) {
      const [number, wireType] = reader.tag();
      reader.skip(wireType, number);
    }
    return reader.pos === reader.len;
  } catch {
    return false;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A message usually has control characters: tags of low fields, and short lengths. */
export function looksLikeText(bytes: Uint8Array): boolean {
  // A tag of field 1, more likely than a text that begins with a line break.
  if (bytes[0] === 0x0a && findWhole(bytes)) return false;
  for (const byte of bytes) if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return false;
  try {
    utf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

export function messageOf(field: DescField | undefined): DescMessage | undefined {
  if (field?.fieldKind === "message") return field.message;
  return field?.fieldKind === "list" && field.listKind === "message" ? field.message : undefined;
}

const STRING = 9;
const BYTES = 12;

const scalarOf = (field: DescField | undefined): number | undefined =>
  field?.fieldKind === "scalar" || (field?.fieldKind === "list" && field.listKind === "scalar")
    ? field.scalar
    : undefined;

export const isString = (field: DescField | undefined): boolean => scalarOf(field) === STRING;

/** Numbers in one packed field. */
function isNumbers(field: DescField | undefined): boolean {
  const scalar = scalarOf(field);
  if (scalar !== undefined) return scalar !== STRING && scalar !== BYTES;
  return field?.fieldKind === "enum" || (field?.fieldKind === "list" && field.listKind === "enum");
}

/** Strings of JSON, and of JSON that is itself in a string, as in the data of an event. */
const STRINGS = /"((?:[^"\\]|\\.)*)"(\s*:)?/gs;
const NESTED_STRINGS = /\\"((?:[^"\\]|\\\\(?:\\["\\]|[^"\\]))*)\\"(\s*:)?/gs;
/** Members with these names carry a piece of a longer text, in the events of public APIs. */
const STREAMED_MEMBERS = /^(?:text|content|thinking|delta|partial_json|arguments|reasoning(?:_content)?)$/;

/** Finds the string values of JSON. `text` has one character for each byte. */
export function findJsonLeaves(text: string, isEvent: boolean, visit: Visit): void {
  let name = "";
  for (const match of text.matchAll(isEvent ? NESTED_STRINGS : STRINGS)) {
    const [, value = "", colon] = match;
    if (colon !== undefined) name = value;
    else if (value !== "") {
      const start = match.index + (isEvent ? 2 : 1);
      const stream = isEvent && STREAMED_MEMBERS.test(name) ? name : undefined;
      visit({ start, end: start + value.length, name, owner: undefined, stream });
    }
  }
}
